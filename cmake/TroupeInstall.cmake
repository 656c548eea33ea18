# cmake --install: the library, its headers, the `troupe` command and a package for find_package(troupe).

include(CMakePackageConfigHelpers)
set(troupe_package_directory "${CMAKE_INSTALL_LIBDIR}/cmake/troupe")

install(TARGETS troupe_library EXPORT troupe-targets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(TARGETS troupe RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")

foreach(room IN LISTS troupe_rooms)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/${room}/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/troupe/${room}"
    FILES_MATCHING PATTERN "*.hpp" PATTERN "*.proto")
endforeach()
install(DIRECTORY "${troupe_generated}/troupe" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.pb.h")

install(EXPORT troupe-targets NAMESPACE troupe:: DESTINATION "${troupe_package_directory}")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/troupe-config.cmake.in"
  "${PROJECT_BINARY_DIR}/troupe-config.cmake" INSTALL_DESTINATION "${troupe_package_directory}"
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/troupe-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/troupe-config.cmake" "${PROJECT_BINARY_DIR}/troupe-config-version.cmake"
  cmake/TroupeDependencies.cmake cmake/FindCAF.cmake cmake/FindUCX.cmake cmake/FindIBVerbs.cmake cmake/FindAsio.cmake
  DESTINATION "${troupe_package_directory}")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/troupe" RENAME copyright)
