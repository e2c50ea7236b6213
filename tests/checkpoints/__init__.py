"""Tests of the stored runs: the file, the saver and store on it, run locks and the journal."""
