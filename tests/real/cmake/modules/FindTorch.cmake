# torch is pretended: its libraries are names that nothing links here.
set(Torch_FOUND TRUE)
set(TORCH_LIBRARIES torch)
