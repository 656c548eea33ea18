# Everything Troupe is built from. The tree and an installed package both read this file, so that a program using the
# installed library finds the very packages the library was built with.

find_package(Threads REQUIRED)
find_package(Protobuf 3.21 REQUIRED)
find_package(UCX 1.13 REQUIRED)
find_package(IBVerbs REQUIRED)
find_package(Asio REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)
find_package(CAF 0.17.6 EXACT REQUIRED COMPONENTS core)
find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
