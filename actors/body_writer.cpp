#include <troupe/actors/body_writer.hpp>

#include <array>
#include <limits>

#include <caf/actor_system.hpp>
#include <caf/message.hpp>
#include <caf/node_id.hpp>

#include <troupe/actors/codec.hpp>
#include <troupe/actors/element_codec.hpp>
#include <troupe/actors/type_name.hpp>
#include <troupe/actors/wire_tags.hpp>

namespace troupe {

bool body_writer::write_size(std::size_t size) {
  if (size > std::numeric_limits<std::uint32_t>::max())
    return fail(errc::exceeds_limit, std::to_string(size) + " elements or bytes in one value: 2^32 - 1 is the limit");
  return write(static_cast<std::uint32_t>(size));
}

bool body_writer::write_bytes(const void* data, std::size_t size) {
  return write_size(size) && write(data, size);
}

bool body_writer::write_payload(const payload& x) {
  auto index = extras_.attachments.size();
  if (x.size() <= attach_threshold || index >= proto::max_attachments) {
    write(payload_tag::inlined);
    return write_bytes(x.data(), x.size());
  }
  extras_.attachments.push_back(x);
  write(payload_tag::attached);
  write(static_cast<std::uint16_t>(index));
  return write(static_cast<std::uint64_t>(x.size()));
}

bool body_writer::write_handle(const caf::actor_control_block* x) {
  if (x == nullptr)
    return write(handle_tag::null);
  auto& node = x->nid;
  if (node == system_.node()) {
    // The one who holds the handle may hold only its address: nobody can reach an actor that is gone.
    auto* mutable_x = const_cast<caf::actor_control_block*>(x);
    if (caf::intrusive_ptr_upgrade_weak(mutable_x))
      extras_.handles.emplace_back(mutable_x, false);
  }
  if (!node) {
    write(handle_tag::no_node);
    return write(static_cast<std::uint64_t>(x->aid));
  }
  if (node->implementation_id() != caf::node_id::default_data::class_id)
    return fail(errc::unsupported, "a handle from node " + to_string(node) + ": the node's id is an URI");
  auto& id = static_cast<const caf::node_id::default_data&>(*node);
  write(handle_tag::node);
  write(static_cast<std::uint64_t>(x->aid));
  write(id.process_id());
  return write(id.host_id());
}

bool body_writer::write_error(const caf::error& x) {
  if (!x)
    return write(error_tag::none);
  auto& context = x.context();
  auto is_text = context.size() == 1 && context.match_element<std::string>(0);
  auto write_head = [&](error_tag tag) {
    write(tag);
    write(x.code());
    return write(x.category());
  };
  if (context.empty())
    return write_head(error_tag::plain);
  if (!is_text) {
    // Tried in memory of its own, because what was written to out_ cannot be taken back.
    std::array<std::byte, max_error_context> memory;
    proto::byte_writer scratch{memory};
    encoded_extras extras;
    body_writer inner{system_, types_, scratch, extras, ctx_};
    inner.depth_ = depth_ + 1;
    auto written = inner.write_tuple(context) && !scratch.overflown();
    if (written && extras.attachments.empty() && extras.handles.empty()) {
      write_head(error_tag::values);
      return write(memory.data(), scratch.needed());
    }
  }
  auto text = is_text ? context.get_as<std::string>(0) : caf::to_string(context);
  if (text.size() > max_error_context) {
    auto cut = max_error_context;
    while (cut > 0 && (text[cut] & 0xC0) == 0x80) // not in the middle of a character
      --cut;
    text.resize(cut);
  }
  write_head(error_tag::text);
  return write_bytes(text.data(), text.size());
}

bool body_writer::write_tuple(const caf::type_erased_tuple& content) {
  auto size = content.size();
  if (size > max_message_elements)
    return fail(errc::exceeds_limit, "a message of " + std::to_string(size) + " elements: the limit is "
                                       + std::to_string(max_message_elements));
  if (depth_ >= max_message_depth)
    return fail(errc::exceeds_limit,
                "a message in a message, more than " + std::to_string(max_message_depth) + " levels deep");
  write(static_cast<std::uint8_t>(size));
  std::array<const element_codec*, max_message_elements> codecs;
  for (std::size_t i = 0; i < size; ++i) {
    auto type = content.type(i);
    auto id = types_.id_of(type);
    if (id == type_table::no_type)
      return fail(errc::unknown_type, "element " + std::to_string(i) + ": " + type_name(type)
                                        + " is not a registered message type, or one that stays in its process");
    codecs[i] = &types_.at(id);
    write(id);
  }
  ++depth_;
  for (std::size_t i = 0; i < size; ++i)
    if (!codecs[i]->encode(content, i, *this)) {
      failure_ = annotate(std::move(failure_), i, type_name(content.type(i)));
      return false;
    }
  --depth_;
  return true;
}

bool body_writer::fail(caf::error why) noexcept {
  if (!failure_)
    failure_ = std::move(why);
  return false;
}

bool body_writer::deepen() {
  auto* here = static_cast<const std::byte*>(__builtin_frame_address(0));
  if (stack_base_ - here <= static_cast<std::ptrdiff_t>(max_codec_stack))
    return true;
  return fail(errc::exceeds_limit, "a value nested too deeply: encoding it would use more than "
                                     + std::to_string(max_codec_stack) + " bytes of stack");
}

} // namespace troupe
