# One static library for each folder of src/. Its dependencies are the include rule of
# docs/architecture.md; tools/check_includes.py checks the sources against the same rule.
function(zoetrope_component name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS;PRIVATE")
  add_library(zoetrope_${name} STATIC ${arg_SOURCES})
  target_include_directories(zoetrope_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include
                                                     ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(zoetrope_${name} PUBLIC ${arg_DEPENDS} PRIVATE ${arg_PRIVATE})
  zoetrope_warnings(zoetrope_${name})
endfunction()

# Members left out of a designated initialiser have their documented default.
function(zoetrope_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
                                           -Wno-missing-field-initializers
                                           $<$<BOOL:${ZOETROPE_WERROR}>:-Werror>)
endfunction()

# A GoogleTest binary of tests/<folder>/, one ctest entry for each of its tests.
function(zoetrope_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS")
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE ZOETROPE_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
  zoetrope_warnings(${name})
  gtest_discover_tests(${name} PROPERTIES TIMEOUT 600)
endfunction()
