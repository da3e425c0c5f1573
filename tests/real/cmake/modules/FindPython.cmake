# A Python module is a plain module library here. A source of a fetched repository is made empty, every
# other must exist: CMake refuses to generate a target that lacks one.
set(Python_FOUND TRUE)

function(Python_add_library name)
    cmake_parse_arguments(PARSE_ARGV 1 probe "MODULE;WITH_SOABI" "USE_SABI" "")
    foreach(source IN LISTS probe_UNPARSED_ARGUMENTS)
        if(source MATCHES "^${CMAKE_BINARY_DIR}/fetched/([^/]+)/(.+)$")
            set(shown "${CMAKE_MATCH_1}:${CMAKE_MATCH_2}")
            file(WRITE "${source}" "")
        else()
            set(shown "${source}")
        endif()
        file(APPEND "${PROBE_REPORT}" "${name}\t${shown}\n")
    endforeach()
    add_library(${name} MODULE ${probe_UNPARSED_ARGUMENTS})
endfunction()
