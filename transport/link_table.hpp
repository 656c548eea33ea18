// Which links a node has, and what becomes of one more: the rules of identity, without sockets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <troupe/transport/link_config.hpp>

namespace troupe::transport {

/// The live links of one node, at most one per name, and the claims: identities to which a dial of ours has proved
/// itself and whose terms are awaited. For each pair of nodes the one that outranks the other decides, here, which of
/// two simultaneous links comes to be: a node never proves itself while it has a link to that identity, and the higher
/// one defers what comes in while it has a claim. Not threadsafe.
template <class Link>
class link_table {
public:
  using link_ptr = std::shared_ptr<Link>;

  link_table(link_identity self, std::size_t most) : self_(std::move(self)), most_(most) {}

  // -- live links -------------------------------------------------------------

  /// The link to exactly this peer, or none.
  [[nodiscard]] link_ptr find(const link_identity& peer) const {
    auto at = live_.find(peer.name);
    return at != live_.end() && at->second.incarnation == peer.incarnation ? at->second.link : nullptr;
  }

  /// The link to another incarnation of this name, or none.
  [[nodiscard]] link_ptr namesake(const link_identity& peer) const {
    auto at = live_.find(peer.name);
    return at != live_.end() && at->second.incarnation != peer.incarnation ? at->second.link : nullptr;
  }

  /// `peer_serial`: of the peer's part in the handshake. @pre there is none of this name.
  void add(const link_identity& peer, std::uint64_t peer_serial, link_ptr link) {
    live_[peer.name] = {peer.incarnation, peer_serial, std::move(link)};
  }

  /// Forgets `link`; nothing happens when the name belongs to another one by now.
  void remove(const link_identity& peer, const Link* link) {
    auto at = live_.find(peer.name);
    if (at != live_.end() && at->second.link.get() == link)
      live_.erase(at);
  }

  [[nodiscard]] std::vector<link_ptr> all() const {
    std::vector<link_ptr> out;
    out.reserve(live_.size());
    for (const auto& [name, entry] : live_)
      out.push_back(entry.link);
    return out;
  }

  [[nodiscard]] std::size_t size() const noexcept { return live_.size(); }
  [[nodiscard]] bool full() const noexcept { return live_.size() >= most_; }

  // -- claims -----------------------------------------------------------------

  [[nodiscard]] bool claimed(const link_identity& peer) const {
    return std::find(claims_.begin(), claims_.end(), peer) != claims_.end();
  }
  void claim(const link_identity& peer) { claims_.push_back(peer); }
  void release(const link_identity& peer) { std::erase(claims_, peer); }

  // -- rules ------------------------------------------------------------------

  /// What becomes of a dial of ours that reached a peer who says it is `peer`.
  enum class outbound {
    prove,  ///< claim it and ask for a link
    exists, ///< there is a link already: let the peer prove who it is, no more
    join,   ///< another dial of ours is that far: likewise, and wait for its outcome
    probe,  ///< the name belongs to a live link of another incarnation: ask that one first
    full,
  };
  [[nodiscard]] outbound on_hello(const link_identity& peer) const {
    if (find(peer))
      return outbound::exists;
    if (claimed(peer))
      return outbound::join;
    if (namesake(peer))
      return outbound::probe;
    return full() ? outbound::full : outbound::prove;
  }

  /// What becomes of a link that `peer`, authenticated, asks for. A proof with a lower serial than the peer's part in
  /// the live link was on its way when that came up: the other of two simultaneous dials.
  enum class inbound {
    accept,
    replace, ///< the peer does not know our link to it any more: close that, accept this
    defer,   ///< our own dial to it is under way, or is a link by now, and stays
    probe,   ///< as above
    full,
  };
  [[nodiscard]] inbound on_proof(const link_identity& peer, std::uint64_t serial) const {
    if (find(peer))
      return serial < live_.at(peer.name).peer_serial ? inbound::defer : inbound::replace;
    if (namesake(peer))
      return inbound::probe;
    if (claimed(peer) && outranks(self_, peer))
      return inbound::defer;
    return full() ? inbound::full : inbound::accept;
  }

private:
  struct entry {
    std::uint64_t incarnation = 0;
    std::uint64_t peer_serial = 0;
    link_ptr link;
  };

  link_identity self_;
  std::size_t most_;
  std::map<std::string, entry> live_;
  std::vector<link_identity> claims_;
};

} // namespace troupe::transport
