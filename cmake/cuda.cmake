# NVIDIA GPUs: built where a toolkit is found. ZOETROPE_HAS_CUDA says whether it is; without it a
# stub stands in for the backend.
set(ZOETROPE_CUDA AUTO CACHE STRING "Build for NVIDIA GPUs: AUTO (where a toolkit is found), ON, OFF")
set_property(CACHE ZOETROPE_CUDA PROPERTY STRINGS AUTO ON OFF)
set(ZOETROPE_CUDA_ARCHITECTURES "80;86-real;89-real;90-real;100-real;120-real" CACHE STRING
    "What the portable kernels are compiled for; those of Hopper are for 90a alone")

set(ZOETROPE_HAS_CUDA OFF)
if(ZOETROPE_CUDA)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake before 3.26 with nvcc of 13
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    endif()
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    set(CMAKE_CUDA_EXTENSIONS OFF)
    set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
    find_package(CUDAToolkit REQUIRED)
    set(ZOETROPE_HAS_CUDA ON)
  elseif(NOT ZOETROPE_CUDA STREQUAL AUTO)
    message(FATAL_ERROR "ZOETROPE_CUDA is ON, but no CUDA compiler was found; set CUDACXX to nvcc, "
                        "or ZOETROPE_CUDA=OFF")
  endif()
endif()
message(STATUS "zoetrope: CUDA backend ${ZOETROPE_HAS_CUDA}")

# A static library of device code. Warnings of the host compiler alone: nvcc's own code trips
# -Wpedantic.
function(zoetrope_cuda_kernels name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS;ARCHITECTURES")
  add_library(zoetrope_${name} STATIC ${arg_SOURCES})
  set_target_properties(zoetrope_${name} PROPERTIES CUDA_ARCHITECTURES "${arg_ARCHITECTURES}")
  target_include_directories(zoetrope_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include
                                                     ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(zoetrope_${name} PUBLIC ${arg_DEPENDS} CUDA::cudart_static)
  target_compile_options(zoetrope_${name} PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wno-missing-field-initializers>"
    "$<$<COMPILE_LANGUAGE:CUDA>:-lineinfo;-Xcompiler=-Wall,-Wextra,-Wno-missing-field-initializers>"
    $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${ZOETROPE_WERROR}>>:-Werror=all-warnings>)
endfunction()
