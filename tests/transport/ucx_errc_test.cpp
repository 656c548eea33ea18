#include <troupe/transport/ucx_errc.hpp>

#include <map>

#include <gtest/gtest.h>

namespace troupe::transport {
namespace {

// Every status that UCX defines, with the code it becomes.
const std::map<int, errc> table = {
  {UCS_OK, errc::ok},
  {UCS_INPROGRESS, errc::in_progress},
  {UCS_ERR_NO_MESSAGE, errc::not_found},
  {UCS_ERR_NO_RESOURCE, errc::no_resource},
  {UCS_ERR_IO_ERROR, errc::protocol_error},
  {UCS_ERR_NO_MEMORY, errc::no_memory},
  {UCS_ERR_INVALID_PARAM, errc::invalid_param},
  {UCS_ERR_UNREACHABLE, errc::unreachable},
  {UCS_ERR_INVALID_ADDR, errc::invalid_address},
  {UCS_ERR_NOT_IMPLEMENTED, errc::unsupported},
  {UCS_ERR_MESSAGE_TRUNCATED, errc::truncated},
  {UCS_ERR_NO_PROGRESS, errc::internal},
  {UCS_ERR_BUFFER_TOO_SMALL, errc::exceeds_limit},
  {UCS_ERR_NO_ELEM, errc::not_found},
  {UCS_ERR_SOME_CONNECTS_FAILED, errc::unreachable},
  {UCS_ERR_NO_DEVICE, errc::no_device},
  {UCS_ERR_BUSY, errc::busy},
  {UCS_ERR_CANCELED, errc::canceled},
  {UCS_ERR_SHMEM_SEGMENT, errc::no_memory},
  {UCS_ERR_ALREADY_EXISTS, errc::already_exists},
  {UCS_ERR_OUT_OF_RANGE, errc::out_of_range},
  {UCS_ERR_TIMED_OUT, errc::timed_out},
  {UCS_ERR_EXCEEDS_LIMIT, errc::exceeds_limit},
  {UCS_ERR_UNSUPPORTED, errc::unsupported},
  {UCS_ERR_REJECTED, errc::rejected},
  {UCS_ERR_NOT_CONNECTED, errc::peer_reset},
  {UCS_ERR_CONNECTION_RESET, errc::peer_reset},
};

TEST(UcxErrc, MapsEveryStatusAndRange) {
  for (int status = -128; status <= 127; ++status) {
    auto code = to_errc(static_cast<ucs_status_t>(status));
    auto row = table.find(status);
    if (row != table.end())
      EXPECT_EQ(to_string(code), to_string(row->second)) << status;
    else if (status <= UCS_ERR_FIRST_LINK_FAILURE && status >= UCS_ERR_LAST_ENDPOINT_FAILURE)
      EXPECT_EQ(to_string(code), "peer_reset") << status;
    else
      EXPECT_EQ(to_string(code), "internal") << status;
  }
}

// UCX may learn new statuses: whatever it can name must stand in the table.
TEST(UcxErrc, HasARowForEverythingUcxCanName) {
  for (int status = -128; status <= 1; ++status) {
    std::string name = ucs_status_string(static_cast<ucs_status_t>(status));
    if (name.rfind("Unknown error", 0) == 0 || status <= UCS_ERR_FIRST_LINK_FAILURE)
      continue;
    EXPECT_TRUE(table.contains(status)) << status << ": " << name;
  }
}

TEST(UcxErrc, DescribesInUcxsWords) {
  EXPECT_EQ(describe(UCS_ERR_BUSY), "Device is busy (UCX status -15)");
}

} // namespace
} // namespace troupe::transport
