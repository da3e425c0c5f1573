"""What a machine with a GPU and no network is given: packages for one architecture, cut into pieces."""
