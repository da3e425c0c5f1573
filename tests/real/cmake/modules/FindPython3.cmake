# The project runs Python to ask torch for its ABI; `true` answers nothing.
set(Python3_FOUND TRUE)
set(Python3_EXECUTABLE true)
