export TORCH_COMPILE_DYNAMIC_SOURCES="L['tokens']:0,L['tokens']:1,L['self'].step,L['features']:0"
