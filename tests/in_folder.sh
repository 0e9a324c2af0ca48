# Runs one test script in a fresh folder: in_folder.sh FOLDER SCRIPT
rm -rf "$1" && mkdir -p "$1" && cd "$1" && exec sh -eu "$2"
