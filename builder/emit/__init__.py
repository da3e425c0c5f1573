"""What a build hands over: values to bytes, and one module that writes them."""
