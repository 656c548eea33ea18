#include <troupe/transport/ucx_errc.hpp>

namespace troupe::transport {

errc to_errc(ucs_status_t status) noexcept {
  // A switch over plain numbers, so that statuses of later releases (link and endpoint ranges) are covered, too.
  switch (static_cast<int>(status)) {
    case UCS_OK:
      return errc::ok;
    case UCS_INPROGRESS:
      return errc::in_progress;
    case UCS_ERR_NO_MESSAGE:
    case UCS_ERR_NO_ELEM:
      return errc::not_found;
    case UCS_ERR_NO_RESOURCE:
      return errc::no_resource;
    case UCS_ERR_IO_ERROR:
      return errc::protocol_error;
    case UCS_ERR_NO_MEMORY:
    case UCS_ERR_SHMEM_SEGMENT:
      return errc::no_memory;
    case UCS_ERR_INVALID_PARAM:
      return errc::invalid_param;
    case UCS_ERR_UNREACHABLE:
    case UCS_ERR_SOME_CONNECTS_FAILED:
      return errc::unreachable;
    case UCS_ERR_INVALID_ADDR:
      return errc::invalid_address;
    case UCS_ERR_NOT_IMPLEMENTED:
    case UCS_ERR_UNSUPPORTED:
      return errc::unsupported;
    case UCS_ERR_MESSAGE_TRUNCATED:
      return errc::truncated;
    case UCS_ERR_NO_PROGRESS:
      return errc::internal;
    case UCS_ERR_BUFFER_TOO_SMALL:
    case UCS_ERR_EXCEEDS_LIMIT:
      return errc::exceeds_limit;
    case UCS_ERR_NO_DEVICE:
      return errc::no_device;
    case UCS_ERR_BUSY:
      return errc::busy;
    case UCS_ERR_CANCELED:
      return errc::canceled;
    case UCS_ERR_ALREADY_EXISTS:
      return errc::already_exists;
    case UCS_ERR_OUT_OF_RANGE:
      return errc::out_of_range;
    case UCS_ERR_TIMED_OUT:
      return errc::timed_out;
    case UCS_ERR_REJECTED:
      return errc::rejected;
    case UCS_ERR_NOT_CONNECTED:
    case UCS_ERR_CONNECTION_RESET:
      return errc::peer_reset;
    default:
      return UCS_IS_LINK_ERROR(status) || UCS_IS_ENDPOINT_ERROR(status) ? errc::peer_reset : errc::internal;
  }
}

std::string describe(ucs_status_t status) {
  return std::string{ucs_status_string(status)} + " (UCX status " + std::to_string(static_cast<int>(status)) + ")";
}

} // namespace troupe::transport
