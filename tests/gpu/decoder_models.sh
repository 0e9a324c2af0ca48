# The decoder on the GPU gives what the reference models, a plain network and the host give, and
# takes what the plan says.
test=$HIGHWATER_BUILD/tests/gpu-bin/decoder_models
[ -x "$test" ] || { echo "skipped: built without CUDA"; exit 77; }
ls /dev/nvidia[0-9]* > /dev/null 2>&1 || { echo "skipped: no device"; exit 77; }
mkdir made
exec "$test" "$HIGHWATER_SOURCE/tests/data/models" "$PWD/made"
