#!/bin/sh
# Builds larder-c and installs it with what pkg-config and CMake look for:
#
#   sh c/install.sh PREFIX        PREFIX/include/larder.h, PREFIX/lib/liblarder_c.a and .so, PREFIX/lib/pkgconfig/larder.pc,
#                                 PREFIX/lib/cmake/Larder (/usr/local)
#
# What is installed can be moved: its files find one another by where they are. LARDER_LIBRARIES is a folder that has the libraries
# already: then nothing is built. On Linux.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=${1:-/usr/local}
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$here/../Cargo.toml" | head -n 1)
# `cargo rustc -p larder-c --crate-type staticlib -- --print native-static-libs` says these.
system="gcc_s util rt pthread m dl c"

libraries=${LARDER_LIBRARIES:-}
if [ -z "$libraries" ]; then
  cargo build --release --locked --manifest-path "$here/Cargo.toml"
  libraries=${CARGO_TARGET_DIR:-$here/../target}/release
fi

mkdir -p "$prefix/include" "$prefix/lib/pkgconfig" "$prefix/lib/cmake/Larder"
install -m 644 "$here/include/larder.h" "$prefix/include/larder.h"
install -m 644 "$libraries/liblarder_c.a" "$prefix/lib/liblarder_c.a"
install -m 755 "$libraries/liblarder_c.so" "$prefix/lib/liblarder_c.so"

cat > "$prefix/lib/pkgconfig/larder.pc" <<END
prefix=\${pcfiledir}/../..

Name: larder
Description: IndexedDB for hosts in C and C++, on Chromium's own store
Version: $version
Cflags: -I\${prefix}/include
Libs: -L\${prefix}/lib -llarder_c
Libs.private: $(printf -- '-l%s ' $system)
END

cat > "$prefix/lib/cmake/Larder/LarderConfig.cmake" <<END
# Larder::larder is the shared library, Larder::larder_static the static one.
get_filename_component(_larder_prefix "\${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET Larder::larder)
  add_library(Larder::larder SHARED IMPORTED)
  set_target_properties(Larder::larder PROPERTIES
    IMPORTED_LOCATION "\${_larder_prefix}/lib/liblarder_c.so"
    IMPORTED_NO_SONAME TRUE
    INTERFACE_INCLUDE_DIRECTORIES "\${_larder_prefix}/include")
  add_library(Larder::larder_static STATIC IMPORTED)
  set_target_properties(Larder::larder_static PROPERTIES
    IMPORTED_LOCATION "\${_larder_prefix}/lib/liblarder_c.a"
    INTERFACE_INCLUDE_DIRECTORIES "\${_larder_prefix}/include"
    INTERFACE_LINK_LIBRARIES "$(echo $system | tr ' ' ';')")
endif()
unset(_larder_prefix)
END

# A newer version with the same first number that is not 0 will do; before 1.0.0 the second counts.
cat > "$prefix/lib/cmake/Larder/LarderConfigVersion.cmake" <<END
set(PACKAGE_VERSION "$version")
string(REGEX MATCH "^(0\\\\.[0-9]+|[1-9][0-9]*)" _larder_has "\${PACKAGE_VERSION}")
string(REGEX MATCH "^(0\\\\.[0-9]+|[1-9][0-9]*)" _larder_wanted "\${PACKAGE_FIND_VERSION}")
if(_larder_has STREQUAL _larder_wanted AND NOT PACKAGE_VERSION VERSION_LESS PACKAGE_FIND_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_VERSION VERSION_EQUAL PACKAGE_FIND_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
END
echo "larder $version is in $prefix"
