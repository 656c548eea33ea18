# troupe_generate_protobuf(OUTPUT_VARIABLE IMPORT_ROOT OUTPUT_ROOT FILE...)
#
# Compiles .proto files, given relative to IMPORT_ROOT, into OUTPUT_ROOT with the same relative names, and puts the
# generated sources into OUTPUT_VARIABLE. Generated code is compiled without warnings.
function(troupe_generate_protobuf output_variable import_root output_root)
  file(MAKE_DIRECTORY "${output_root}")
  set(sources)
  foreach(file IN LISTS ARGN)
    string(REGEX REPLACE "\\.proto$" "" stem "${file}")
    add_custom_command(
      OUTPUT "${output_root}/${stem}.pb.cc" "${output_root}/${stem}.pb.h"
      COMMAND protobuf::protoc "--proto_path=${import_root}" "--cpp_out=${output_root}" "${import_root}/${file}"
      DEPENDS "${import_root}/${file}" protobuf::protoc
      COMMENT "Generating ${stem}.pb.cc"
      VERBATIM)
    list(APPEND sources "${output_root}/${stem}.pb.cc")
  endforeach()
  set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS -w)
  set(${output_variable} ${sources} PARENT_SCOPE)
endfunction()
