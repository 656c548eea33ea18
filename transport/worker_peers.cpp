// The making of endpoints and listeners.
#include <cerrno>
#include <cstring>
#include <utility>

#include <openssl/evp.h>

#include <troupe/transport/endpoint_state.hpp>
#include <troupe/transport/listener_state.hpp>
#include <troupe/transport/ucx_errc.hpp>
#include <troupe/transport/worker.hpp>

namespace troupe::transport {

namespace {

// A worker address travels as: magic, length, the first bytes of the SHA-256 of what follows, UCX's address. UCX parses
// its addresses without knowing their length, and aborts on damaged ones.
constexpr std::array<char, 4> envelope_magic{'T', 'W', 'A', '1'};
constexpr std::size_t envelope_check_size = 16;

struct envelope {
  std::array<char, 4> magic;
  std::uint32_t size;
  std::array<std::byte, envelope_check_size> check;
};
static_assert(sizeof(envelope) == 24);

// Zeros behind the address, for a parser that looks beyond its end.
constexpr std::size_t address_slack = 4096;

std::array<std::byte, envelope_check_size> check_of(const void* bytes, std::size_t n) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(bytes, n, digest.data(), &size, EVP_sha256(), nullptr);
  std::array<std::byte, envelope_check_size> result{};
  std::memcpy(result.data(), digest.data(), result.size());
  return result;
}

failure refused(const std::string& what, ucs_status_t status, const std::string& next) {
  return {to_errc(status), what + ": " + describe(status) + "; " + next};
}

} // namespace

std::vector<std::byte> worker::address() const {
  ucp_address_t* raw = nullptr;
  std::size_t size = 0;
  if (handle_ == nullptr || ucp_worker_get_address(handle_, &raw, &size) != UCS_OK)
    return {};
  envelope head{envelope_magic, static_cast<std::uint32_t>(size), check_of(raw, size)};
  std::vector<std::byte> result(sizeof(head) + size);
  std::memcpy(result.data(), &head, sizeof(head));
  std::memcpy(result.data() + sizeof(head), raw, size);
  ucp_worker_release_address(handle_, raw);
  return result;
}

result<std::unique_ptr<endpoint>> worker::make_endpoint(ucp_ep_params_t& params, const std::string& what) {
  if (handle_ == nullptr || inside_ucp_)
    return failure{handle_ ? errc::not_allowed : errc::canceled,
                   what + ": " + (handle_ ? "called from inside a UCP callback" : "its worker was abandoned")
                     + "; connect from the loop, on a living worker"};
  auto state = std::make_shared<endpoint_state>();
  state->owner = this;
  params.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = &worker::on_endpoint_error;
  params.err_handler.arg = state.get();
  endpoints_.push_back(state); // first: the error handler may be called before ucp_ep_create returns
  inside_ucp_ = true;
  auto status = ucp_ep_create(handle_, &params, &state->ep);
  inside_ucp_ = false;
  if (status != UCS_OK) {
    std::erase(endpoints_, state);
    std::erase(failures_, state);
    auto next = context_->transport() == lane_transport::shm
                  ? "check that both processes run on one host, share /dev/shm, and have UCX_POSIX_ERROR_HANDLING=y"
                  : "check the address, and that device " + context_->net_device() + " leads there";
    return refused(what, status, next);
  }
  return std::unique_ptr<endpoint>{new endpoint{std::move(state)}};
}

result<std::unique_ptr<endpoint>> worker::connect(std::span<const std::byte> address) {
  if (context_->transport() != lane_transport::shm)
    return failure{errc::unsupported,
                   "cannot connect over tcp by worker address: such endpoints hang or crash when a peer fails; connect "
                   "to the peer's listener"};
  envelope head{};
  if (address.size() <= sizeof(head) || address.size() > worker_limits::max_address_bytes)
    return failure{errc::invalid_address, "cannot connect: a worker address has between " + std::to_string(sizeof(head))
                                            + " and " + std::to_string(worker_limits::max_address_bytes)
                                            + " bytes, this one " + std::to_string(address.size())
                                            + "; pass what worker::address() returned"};
  std::memcpy(&head, address.data(), sizeof(head));
  auto body = address.subspan(sizeof(head));
  if (head.magic != envelope_magic || head.size != body.size() || head.check != check_of(body.data(), body.size()))
    return failure{errc::invalid_address,
                   "cannot connect: the worker address is damaged (magic, length or checksum); pass what "
                   "worker::address() returned, unchanged"};
  std::vector<std::byte> padded(body.size() + address_slack);
  std::memcpy(padded.data(), body.data(), body.size());
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
  params.address = reinterpret_cast<const ucp_address_t*>(padded.data());
  return make_endpoint(params, "cannot connect over shared memory");
}

result<std::unique_ptr<endpoint>> worker::connect(const socket_address& address) {
  if (context_->transport() != lane_transport::tcp)
    return failure{errc::unsupported, "cannot connect over shared memory to " + address.to_string()
                                        + ": shared memory connects by worker address; use a tcp worker"};
  if (address.empty() || address.port() == 0)
    return failure{errc::invalid_address,
                   "cannot connect to " + address.to_string() + ": give an IP address and a port above 0"};
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_FLAGS | UCP_EP_PARAM_FIELD_SOCK_ADDR;
  params.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
  params.sockaddr.addr = address.data();
  params.sockaddr.addrlen = address.size();
  return make_endpoint(params, "cannot connect to " + address.to_string());
}

result<std::unique_ptr<endpoint>> worker::accept(connection_request request) {
  auto state = request.state_;
  if (state && state->owner && state->owner != this)
    return failure{errc::invalid_param, "cannot accept: the request reached another worker; accept it there"};
  auto* handle = request.take();
  if (handle == nullptr)
    return failure{errc::not_found, "cannot accept: the request was decided before, or its listener is gone; wait for "
                                    "the peer to connect again"};
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST;
  params.conn_request = handle;
  return make_endpoint(params, "cannot accept a connection");
}

result<std::unique_ptr<listener>> worker::listen(const socket_address& address) {
  auto what = "cannot listen on " + address.to_string();
  if (context_->transport() != lane_transport::tcp)
    return failure{errc::unsupported, what + " with a shared-memory worker: use a tcp worker"};
  if (address.empty())
    return failure{errc::invalid_address, what + ": give an IP address of this host"};
  if (handle_ == nullptr || inside_ucp_)
    return failure{handle_ ? errc::not_allowed : errc::canceled, what + ": its worker cannot take it now; listen from "
                                                                        "the loop, on a living worker"};
  for (auto& known : listeners_)
    if (known->retired && address.port() != 0 && known->address.to_string() == address.to_string()) {
      known->retired = false;
      known->rejected_in_excess = 0;
      return std::unique_ptr<listener>{new listener{known}};
    }
  auto state = std::make_shared<listener_state>();
  state->owner = this;
  ucp_listener_params_t params{};
  params.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER;
  params.sockaddr.addr = address.data();
  params.sockaddr.addrlen = address.size();
  params.conn_handler.cb = [](ucp_conn_request_h request, void* arg) { listener_state::on_request(request, arg); };
  params.conn_handler.arg = state.get();
  auto status = ucp_listener_create(handle_, &params, &state->handle);
  if (status == UCS_ERR_BUSY)
    return failure{errc::address_in_use,
                   what + ": the port is in use; choose another, or stop the program that holds it (ss -ltnp)"};
  if (status == UCS_ERR_IO_ERROR)
    return failure{errc::invalid_address, what + ": " + describe(status)
                                            + "; give an address of this host, and a port you may bind"};
  if (status != UCS_OK)
    return refused(what, status, "check that the address belongs to device " + context_->net_device());
  ucp_listener_attr_t attr{};
  attr.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR;
  if (auto queried = ucp_listener_query(state->handle, &attr); queried != UCS_OK) {
    state->close();
    return refused(what, queried, "its port cannot be told");
  }
  state->address = {reinterpret_cast<const sockaddr*>(&attr.sockaddr), sizeof(attr.sockaddr)};
  listeners_.push_back(state);
  return std::unique_ptr<listener>{new listener{std::move(state)}};
}

void worker::retire(listener_state& state) noexcept {
  state.reject_all();
  state.destroy_at = std::chrono::steady_clock::now() + listener_grace;
  after_progress_ = true;
}

} // namespace troupe::transport
