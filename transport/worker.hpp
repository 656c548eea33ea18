// A ucp_worker: progress, inbound messages, failures, and the making of endpoints and listeners.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ucp/api/ucp.h>

#include <troupe/transport/context.hpp>
#include <troupe/transport/endpoint.hpp>
#include <troupe/transport/inbound.hpp>
#include <troupe/transport/listener.hpp>
#include <troupe/transport/operation.hpp>
#include <troupe/transport/payload.hpp>
#include <troupe/transport/result.hpp>
#include <troupe/transport/socket_address.hpp>

namespace troupe::transport {

/// Limits of one worker.
struct worker_limits {
  /// Messages that may wait for drain(). When as many do, progress() does nothing until drain() was called; they can be
  /// more by what a single progress call of UCX brings (tcp: a socket buffer's worth).
  static constexpr std::size_t max_undrained = 4096;
  /// Rendezvous that may be undecided or kept. Further ones are refused: their sender sees the send fail.
  static constexpr std::size_t max_open_rendezvous = 4096;
  /// The largest message; larger ones are refused. Rendezvous: the sender sees the send fail.
  static constexpr std::size_t max_message_bytes = std::size_t{1} << 40;
  /// The largest worker address that connect() takes.
  static constexpr std::size_t max_address_bytes = 16 * 1024;
};

/// What a worker refused or dropped, and what it received. Only ever grows.
struct worker_counters {
  std::uint64_t received = 0;             ///< messages that reached drain()
  std::uint64_t refused_header = 0;       ///< header larger than proto::max_bulk_header
  std::uint64_t refused_rendezvous = 0;   ///< refused by a limit or by the admission; the sender sees an error
  std::uint64_t dropped_rendezvous = 0;   ///< released untouched; the sender sees success
  std::uint64_t refused_eager = 0;        ///< refused by a limit or by the admission; the sender sees success
};

class kept_message;

/// Owns a ucp_worker. Not threadsafe: one thread at a time, handed over with proper synchronisation; UCP callbacks run
/// inside its members only. Nothing here calls user code from a UCP callback.
///
/// One turn of a loop: progress() until it returns 0, drain(), drain_failures(); to sleep: arm(), then wait for event_fd().
class worker {
public:
  /// Decides inside the UCP callback whether a message is taken: ok, or the reason to refuse. Must be quick, and must not
  /// call anything of UCX or of this worker. This is the only way to make the sender of a rendezvous see an error.
  using admission = errc (*)(void* context, const inbound& message) noexcept;

  /// Throws std::runtime_error; for shm also when the shared-memory file system has not enough room. Takes milliseconds
  /// to tens of milliseconds: make spares on a helper thread.
  explicit worker(std::shared_ptr<context> context);

  /// abandon()s what is left. Endpoints, listeners and kept messages may outlive it, dead.
  ~worker();
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;

  [[nodiscard]] const std::shared_ptr<context>& owner() const noexcept { return context_; }
  [[nodiscard]] ucp_worker_h handle() const noexcept { return handle_; }

  // -- progress ---------------------------------------------------------------

  /// Lets UCX work. Returns 0 when there was nothing to do. Called from inside a UCP callback it does nothing.
  unsigned progress() noexcept {
    if (handle_ == nullptr || inside_ucp_ || inbound_.size() >= worker_limits::max_undrained)
      return 0;
    inside_ucp_ = true;
    unsigned n = ucp_worker_progress(handle_);
    inside_ucp_ = false;
    if (after_progress_)
      n += finish_progress();
    return n;
  }

  /// Readable when progress() has something to do after a successful arm(). -1 once abandoned.
  [[nodiscard]] int event_fd() const noexcept { return event_fd_; }

  /// True: armed, you may sleep on event_fd(). False: there is work, call progress() and drain() again.
  [[nodiscard]] bool arm() noexcept;

  // -- inbound messages -------------------------------------------------------

  /// Calls f(inbound&) for each message received since the last call, in the order of arrival, and then releases it,
  /// unless f passed it to receive(), release() or keep(). f may send, close and receive, but must not call
  /// drain(), progress() or abandon(), or destroy the worker. Returns the number of messages.
  template <class F>
  std::size_t drain(F&& f) {
    // By index and by copy: a send to the worker's own address may append while f runs.
    std::size_t n = 0;
    for (; n < inbound_.size(); ++n) {
      inbound message = inbound_[n];
      inbound_[n].held = false;
      f(message);
      if (message.held)
        release(message);
    }
    if (n != 0)
      reset_inbound();
    return n;
  }

  [[nodiscard]] bool has_inbound() const noexcept { return !inbound_.empty(); }

  /// Fetches the data of a rendezvous into `buffer`, which must hold message.size bytes and live until the operation's
  /// terminal call. On `failed`, `why` is: invalid_param (not a rendezvous, or taken already), exceeds_limit (the
  /// buffer is too small), or what UCX said; after the first two the message is still to be taken or released.
  [[nodiscard]] post_status receive(inbound& message, std::byte* buffer, std::size_t size, operation& op,
                                    errc& why) noexcept;

  /// Ends a message before drain() would. A rendezvous that was not received is dropped; its sender is told OK, because
  /// UCX has no other answer at this point (see set_admission()). Does nothing the second time.
  void release(inbound& message) noexcept;

  /// Makes a message last beyond drain(). Copies the header, and eager data; a rendezvous stays at the sender.
  [[nodiscard]] kept_message keep(inbound& message);

  /// Installs `f`, called with `context`; nullptr takes everything.
  void set_admission(admission f, void* context) noexcept {
    admission_ = f;
    admission_context_ = context;
  }

  [[nodiscard]] const worker_counters& counters() const noexcept { return counters_; }

  // -- peers ------------------------------------------------------------------

  /// What the other side passes to connect(): UCX's address in an envelope with length and checksum, as a damaged one
  /// would abort the process.
  [[nodiscard]] std::vector<std::byte> address() const;

  /// shm only. The peer is the worker that `address` names. Fails with invalid_address, unsupported (this is a tcp
  /// worker: tcp endpoints hang or crash when made this way), unreachable.
  [[nodiscard]] result<std::unique_ptr<endpoint>> connect(std::span<const std::byte> address);

  /// tcp only. Returns at once; a refusal, a rejection or a closed port shows up in drain_failures(), a silent server
  /// never: set your own deadline.
  [[nodiscard]] result<std::unique_ptr<endpoint>> connect(const socket_address& address);

  /// Takes a connection request, decided or not: a decided one fails with not_found.
  [[nodiscard]] result<std::unique_ptr<endpoint>> accept(connection_request request);

  /// tcp only. Port 0: the system chooses. Fails with address_in_use, invalid_address, unsupported.
  [[nodiscard]] result<std::unique_ptr<listener>> listen(const socket_address& address);

  /// Calls f(endpoint&, errc) for each endpoint whose peer failed since the last call: once per endpoint, never after
  /// close() was called on it. Close it (force) then; f may do so.
  template <class F>
  std::size_t drain_failures(F&& f) {
    std::size_t n = 0;
    errc why{};
    while (auto* failed = next_failure(why)) {
      f(*failed, why);
      ++n;
    }
    return n;
  }

  // -- the end ----------------------------------------------------------------

  /// Operations posted here (sends and receives) that have not ended yet.
  [[nodiscard]] std::size_t outstanding() const noexcept { return outstanding_; }

  /// Nothing outstanding, and every endpoint that was closed has settled.
  [[nodiscard]] bool settled() const noexcept;

  /// The end of a bounded settle: closes what is open by force, releases what is held, destroys the ucp_worker, and gives
  /// every operation still outstanding its terminal call (`canceled`), so that buffers may be reused when it returns.
  /// Afterwards all endpoints are settled and all calls fail. Not from inside a UCP callback or drain().
  void abandon() noexcept;
  [[nodiscard]] bool abandoned() const noexcept { return handle_ == nullptr; }

private:
  friend class endpoint;
  friend class listener;
  friend class kept_message;
  friend struct listener_state;

  struct ticket; // a pending operation, between UCX's callback and ours
  struct kept_record;
  struct handler_argument {
    worker* self;
    am_id id;
  };

  static ucs_status_t on_message(void* arg, const void* header, size_t header_size, void* data, size_t size,
                                 const ucp_am_recv_param_t* param);
  static void on_sent(void* request, ucs_status_t status, void* user_data);
  static void on_received(void* request, ucs_status_t status, size_t size, void* user_data);
  static void on_flushed(void* request, ucs_status_t status, void* user_data);
  static void on_closed(void* request, ucs_status_t status, void* user_data);
  static void on_endpoint_error(void* arg, ucp_ep_h ep, ucs_status_t status);

  // The data path of endpoint; `data` is an io_slice array of `n` entries if `gather`, otherwise `n` bytes.
  post_status send(endpoint_state& state, am_id id, const void* header, std::size_t header_size, const void* data,
                   std::size_t n, bool gather, send_flags flags, operation& op, errc& why) noexcept;
  void close(endpoint_state& state, close_mode mode) noexcept;
  void retire(listener_state& state) noexcept;
  void progress_now() noexcept; // a bare ucp_worker_progress, unless inside one
  void advance_close(endpoint_state& state) noexcept;
  void force_close(endpoint_state& state) noexcept;

  bool grow_tickets() noexcept;
  ticket* take_ticket() noexcept;
  void return_ticket(ticket* t) noexcept;
  post_status posted(ucs_status_ptr_t request, ticket* t, operation& op, endpoint_state* ep, errc& why) noexcept;
  static void complete(void* request, ucs_status_t status, ticket* t) noexcept;

  std::byte* arena_copy(const void* bytes, std::size_t n);
  void reset_inbound() noexcept;
  unsigned finish_progress() noexcept;
  endpoint* next_failure(errc& why) noexcept;
  result<std::unique_ptr<endpoint>> make_endpoint(ucp_ep_params_t& params, const std::string& what);

  std::shared_ptr<context> context_;
  ucp_worker_h handle_ = nullptr;
  int event_fd_ = -1;
  bool inside_ucp_ = false;
  bool after_progress_ = false; // something waits for finish_progress()
  std::size_t outstanding_ = 0;

  std::vector<inbound> inbound_;
  std::vector<std::unique_ptr<std::byte[]>> arena_; // chunks that hold copied headers and data until drained
  std::size_t arena_chunk_ = 0;
  std::size_t arena_used_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> arena_large_; // pieces larger than a chunk

  std::vector<std::unique_ptr<ticket[]>> ticket_chunks_;
  ticket* free_tickets_ = nullptr;

  std::vector<std::shared_ptr<endpoint_state>> endpoints_;
  std::vector<std::shared_ptr<endpoint_state>> failures_;
  std::vector<std::shared_ptr<listener_state>> listeners_;
  kept_record* kept_ = nullptr;
  std::size_t open_rendezvous_ = 0;

  admission admission_ = nullptr;
  void* admission_context_ = nullptr;
  worker_counters counters_;
  std::array<handler_argument, last_am_id + 1> handler_arguments_{};
};

/// A message that outlives drain(). Move-only. Eager data is its own copy; a rendezvous lasts as long as the worker and the
/// peer do. Destroying it drops a rendezvous that was not received. Belongs to the worker's thread.
class kept_message {
public:
  kept_message() noexcept; ///< empty: assign to it before use
  kept_message(kept_message&& other) noexcept;
  kept_message& operator=(kept_message&& other) noexcept;
  ~kept_message();

  [[nodiscard]] am_id id() const noexcept;
  [[nodiscard]] std::span<const std::byte> header() const noexcept;
  [[nodiscard]] bool rendezvous() const noexcept;
  [[nodiscard]] std::size_t size() const noexcept; ///< bytes of data, at hand or to be received
  [[nodiscard]] const payload& data() const noexcept; ///< eager data; empty for a rendezvous

  /// Like worker::receive(); additionally fails with canceled when the worker is gone.
  [[nodiscard]] post_status receive(std::byte* buffer, std::size_t size, operation& op, errc& why) noexcept;

private:
  friend class worker;
  explicit kept_message(std::unique_ptr<worker::kept_record> record) noexcept;

  std::unique_ptr<worker::kept_record> record_;
};

} // namespace troupe::transport
