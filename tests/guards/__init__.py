"""What must stay true of the repository itself: its layout, its imports, its packaging, its documents."""
