# What the running programs have mapped: driver and rank no CUDA, the driver no MPI either; links
# alone do not tell, plugins come at run time.
. "$HIGHWATER_SOURCE/tests/mpi/helpers/lib.sh"
study s.ini
child wait.sh <<EOF
$speak
hello
: > "$PWD/running"
until [ -e "$PWD/seen" ]; do sleep 0.05; done
all
bye
EOF
sed -i '/^hello$/d' wait.sh
HWLOC_COMPONENTS=-gl HIGHWATER_MARK=$mark "$bin/highwater" sweep s.ini --results out > out.out 2> out.err &
driver=$!
until [ -e running ]; do sleep 0.05; done
launcher=$(pgrep -P $driver mpirun)
rank=$(pgrep -P "$launcher" highwater-rank)
cat /proc/$driver/maps > driver.maps
cat "/proc/$rank/maps" > rank.maps
cat "/proc/$launcher/maps" > launcher.maps
cat "/proc/$rank/environ" > rank.environ
: > seen
wait $driver
grep -q highwater driver.maps && grep -q libmpi rank.maps || fail "the wrong maps were read"
for library in libcuda libcudart libcublas libcupti libnvrtc; do
    if grep "$library" driver.maps rank.maps launcher.maps; then fail "$library is mapped"; fi
done
# Discovery of the machine's topology opens displays and drivers; it is switched off.
# The caller's own choice would cancel that.
if tr '\0' '\n' < rank.environ | grep '^HWLOC_COMPONENTS='; then fail "discovery is on"; fi
grep -qz '^HWLOC_SYNTHETIC=' rank.environ || fail "the topology is not told"
for library in hwloc_ libOpenCL libX11 libXNVCtrl libpciaccess; do
    if grep "$library" rank.maps launcher.maps; then fail "$library is mapped"; fi
done
for library in libmpi libopen-rte libopen-pal libpmix libhwloc; do
    if grep "$library" driver.maps; then fail "the driver has $library"; fi
done
