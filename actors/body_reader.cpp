#include <troupe/actors/body_reader.hpp>

#include <array>

#include <caf/actor_system.hpp>
#include <caf/make_message.hpp>
#include <caf/message.hpp>
#include <caf/node_id.hpp>

#include <troupe/actors/decoded_message.hpp>
#include <troupe/actors/element_codec.hpp>
#include <troupe/actors/handle_source.hpp>
#include <troupe/actors/type_name.hpp>
#include <troupe/actors/type_table.hpp>
#include <troupe/actors/wire_tags.hpp>

namespace troupe {

std::span<const std::byte> body_reader::read_bytes() {
  std::uint32_t size = 0;
  if (!read(size))
    return {};
  return take(size);
}

bool body_reader::read_size(std::size_t& size, std::size_t element_size) {
  std::uint32_t n = 0;
  if (!read(n))
    return false;
  if (n > remaining() / element_size)
    return truncated();
  size = n;
  return true;
}

bool body_reader::read_sequence(std::size_t& size) {
  std::uint32_t n = 0;
  if (!read(n))
    return false;
  if (least_bytes_of_sequence(n) > remaining() || n > element_budget_)
    return malformed("a sequence of " + std::to_string(n) + " elements in " + std::to_string(remaining()) + " bytes");
  element_budget_ -= n;
  size = n;
  return true;
}

bool body_reader::read_payload(payload& x) {
  auto tag = payload_tag::inlined;
  if (!read(tag))
    return false;
  if (tag == payload_tag::inlined) {
    auto bytes = read_bytes();
    if (!ok())
      return false;
    x = payload::copy_of(bytes.data(), bytes.size());
    return true;
  }
  if (tag != payload_tag::attached)
    return malformed("no such kind of payload");
  std::uint16_t index = 0;
  std::uint64_t size = 0;
  if (!read(index) || !read(size))
    return false;
  if (index != next_attachment_ || index >= attachments_.size() || attachments_[index].size() != size)
    return malformed("attachment " + std::to_string(index) + " of " + std::to_string(size)
                     + " bytes is not the next one that came with the message");
  x = attachments_[next_attachment_++];
  return true;
}

bool body_reader::read_handle(caf::strong_actor_ptr& x) {
  auto tag = handle_tag::null;
  if (!read(tag))
    return false;
  x = nullptr;
  if (tag == handle_tag::null)
    return true;
  if (tag != handle_tag::node && tag != handle_tag::no_node)
    return malformed("no such kind of handle");
  std::uint64_t id = 0;
  caf::node_id node;
  if (!read(id))
    return false;
  if (tag == handle_tag::node) {
    std::uint32_t process = 0;
    caf::node_id::default_data::host_id_type host;
    if (!read(process) || !read(host))
      return false;
    // Most handles are our own or the peer's: no node id is made for ours.
    auto& own = system_.node();
    if (own && own->implementation_id() == caf::node_id::default_data::class_id) {
      auto& data = static_cast<const caf::node_id::default_data&>(*own);
      if (data.process_id() == process && data.host_id() == host) {
        x = handles_.local(id);
        return true;
      }
    }
    node = caf::make_node_id(process, host);
  }
  x = node == system_.node() ? handles_.local(id) : handles_.remote(node, id);
  return true;
}

bool body_reader::read_error(caf::error& x) {
  auto tag = error_tag::none;
  if (!read(tag))
    return false;
  x = caf::error{};
  if (tag == error_tag::none)
    return true;
  if (tag != error_tag::plain && tag != error_tag::text && tag != error_tag::values)
    return malformed("no such kind of error");
  std::uint8_t code = 0;
  caf::atom_value category{};
  if (!read(code) || !read(category))
    return false;
  if (code == 0)
    return malformed("an error with the code for no error");
  caf::message context;
  if (tag == error_tag::text) {
    auto text = read_bytes();
    if (!ok())
      return false;
    context = caf::make_message(std::string{reinterpret_cast<const char*>(text.data()), text.size()});
  } else if (tag == error_tag::values && !read_message(context)) {
    return false;
  }
  x = caf::error{code, category, std::move(context)};
  return true;
}

bool body_reader::read_message(caf::message& x) {
  if (depth_ >= max_message_depth)
    return malformed("a message in a message, more than " + std::to_string(max_message_depth) + " levels deep");
  std::uint8_t size = 0;
  if (!read(size))
    return false;
  if (size > max_message_elements)
    return malformed("a message of " + std::to_string(size) + " elements: the limit is "
                     + std::to_string(max_message_elements));
  std::array<const element_codec*, max_message_elements> codecs;
  for (std::size_t i = 0; i < size; ++i) {
    std::uint16_t id = 0;
    if (!read(id))
      return false;
    auto ours = theirs_.ours(id);
    if (ours == type_table::no_type)
      return unknown_type(id);
    codecs[i] = &types_.at(ours);
  }
  if (size == 0) {
    x.reset();
    return true;
  }
  ++depth_;
  auto* data = decoded_message::read({codecs.data(), size}, *this);
  --depth_;
  if (data == nullptr)
    return false;
  x.reset(data, false);
  return true;
}

bool body_reader::expect_end() {
  if (!ok())
    return false;
  if (remaining() != 0)
    return malformed(std::to_string(remaining()) + " bytes follow the message");
  if (next_attachment_ != attachments_.size())
    return malformed(std::to_string(attachments_.size() - next_attachment_)
                     + " attachments came with the message that it does not name");
  return true;
}

bool body_reader::fail(caf::error why) noexcept {
  if (!failure_)
    failure_ = std::move(why);
  return false;
}

void body_reader::annotate_failure(std::size_t pos, caf::rtti_pair type) {
  failure_ = annotate(std::move(failure_), pos, type_name(type));
}

bool body_reader::truncated() {
  return malformed("the bytes end in the middle of a value");
}

bool body_reader::unknown_type(std::uint16_t id) {
  auto name = theirs_.name(id);
  if (name.empty())
    return malformed("type id " + std::to_string(id) + " is none that the peer announced");
  return fail(errc::unknown_type, "the message type " + std::string{name} + " is not registered on this node");
}

bool body_reader::deepen() {
  auto* here = static_cast<const std::byte*>(__builtin_frame_address(0));
  if (stack_base_ - here <= static_cast<std::ptrdiff_t>(max_codec_stack))
    return true;
  return malformed("a value nested too deeply: decoding it would use more than " + std::to_string(max_codec_stack)
                   + " bytes of stack");
}

} // namespace troupe
