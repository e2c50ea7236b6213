"""Speed and size, as ratios of measurements made by turns in one run; off by default (`-m benchmark`)."""
