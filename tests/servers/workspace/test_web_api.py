"""The Web API: errors, limits, threads, updates, metadata, pins, reads."""

import pytest
from slack_sdk.errors import SlackApiError

pytestmark = pytest.mark.anyio

SECTION = {"type": "section", "text": {"type": "mrkdwn", "text": "hello"}}


def _button(action_id="go", **more):
    return {"type": "button", "action_id": action_id, "text": {"type": "plain_text", "text": "Go"}, **more}


async def _error(call) -> SlackApiError:
    with pytest.raises(SlackApiError) as caught:
        await call
    return caught.value


async def _refused(desk, blocks) -> tuple[str, list[str]]:
    error = await _error(desk.client().chat_postMessage(channel="C_SUPPORT", text="x", blocks=blocks))
    return error.response["error"], error.response.get("response_metadata", {}).get("messages", [])


@pytest.mark.parametrize(
    ("token", "method", "error"),
    [
        ("", "auth.test", "not_authed"),
        ("xoxb-wrong", "auth.test", "invalid_auth"),
        ("xapp-local", "auth.test", "not_allowed_token_type"),
        ("xoxb-local", "apps.connections.open", "not_allowed_token_type"),
        ("xoxb-local", "chat.shout", "unknown_method"),
    ],
)
async def test_tokens_and_methods_are_checked(desk, token, method, error):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with desk.http.post(f"{desk.url}/api/{method}", headers=headers) as response:
        assert response.status == 200
        assert (await response.json())["error"] == error


async def test_the_app_learns_who_it_is(desk):
    who = await desk.client().auth_test()
    assert (who["team_id"], who["user_id"], who["bot_id"]) == ("T1", "U_BOT", "B1")


@pytest.mark.parametrize(
    ("channel", "error"),
    [("C_NOWHERE", "channel_not_found"), ("C_LOBBY", "not_in_channel"), ("C_ATTIC", "is_archived")],
)
async def test_a_channel_that_cannot_be_written_to_says_why(desk, channel, error):
    assert (await _error(desk.client().chat_postMessage(channel=channel, text="x"))).response["error"] == error


@pytest.mark.filterwarnings("ignore:The top-level `text` argument")
async def test_a_message_needs_words_and_an_update_no_more_than_4000_of_them(desk):
    client = desk.client()
    assert (await _error(client.chat_postMessage(channel="C_SUPPORT", text="", blocks=[]))).response["error"] == "no_text"
    posted = await client.chat_postMessage(channel="C_SUPPORT", text="x")
    too_long = client.chat_update(channel="C_SUPPORT", ts=posted["ts"], text="x" * 4001)
    assert (await _error(too_long)).response["error"] == "msg_too_long"


@pytest.mark.parametrize(
    "blocks",
    [
        [SECTION] * 51,
        [{"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3001}}],
        [{"type": "section", "text": {"type": "plain_text", "text": "x" * 2996 + "&"}}, {"type": "hologram"}],
        [{"type": "section", "text": {"type": "plain_text", "text": "x" * 2996 + "&<"}}],
        [{"type": "section"}],
        [{"type": "section", "fields": [{"type": "mrkdwn", "text": "x"}] * 11}],
        [{"type": "header", "text": {"type": "plain_text", "text": "x" * 151}}],
        [{"type": "header", "text": {"type": "mrkdwn", "text": "x"}}],
        [{"type": "context", "elements": [{"type": "mrkdwn", "text": "x"}] * 11}],
        [{"type": "actions", "elements": [_button(f"b{n}") for n in range(26)]}],
        [{"type": "actions", "elements": []}],
        [{"type": "actions", "elements": [_button(), _button()]}],
        [{"type": "actions", "elements": [_button(value="x" * 2001)]}],
        [{"type": "actions", "elements": [_button(style="purple")]}],
        [{"type": "actions", "elements": [_button(confirm={"title": {"type": "plain_text", "text": "x"}})]}],
        [{"type": "divider", "block_id": "same"}, {"type": "divider", "block_id": "same"}],
        [{"type": "divider", "block_id": "x" * 256}],
        [{"type": "image", "alt_text": "no address"}],
        [{"type": "rich_text", "elements": [{"type": "text", "text": "not in a section"}]}],
        [{"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": ""}]}]}],
        [{"type": "rich_text", "elements": [{"type": "rich_text_list", "elements": [{"type": "text", "text": "x"}]}]}],
        ["not a block"],
    ],
)
async def test_blocks_beyond_the_limits_are_refused_with_a_pointer(desk, blocks):
    error, messages = await _refused(desk, blocks)
    assert error == "invalid_blocks"
    assert messages
    assert all("json-pointer:/blocks" in message for message in messages)


async def test_blocks_at_the_limits_are_taken_and_kept_as_sent(desk):
    client = desk.client()
    blocks = [
        {"type": "section", "block_id": "s", "text": {"type": "mrkdwn", "text": "&amp;" * 600, "verbatim": True}},
        {
            "type": "rich_text",
            "block_id": "r",
            "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": "a<b"}]}],
        },
        {"type": "actions", "block_id": "a", "elements": [_button(f"b{n}", value="x" * 2000) for n in range(2)]},
        *({"type": "divider", "block_id": f"d{n}"} for n in range(47)),
    ]
    posted = await client.chat_postMessage(channel="C_SUPPORT", text="x", blocks=blocks)
    assert posted["message"]["blocks"] == blocks
    unnamed = await client.chat_postMessage(channel="C_SUPPORT", text="x", blocks=[SECTION])
    assert unnamed["message"]["blocks"][0]["block_id"]


async def test_a_message_that_is_too_long_as_a_whole_is_refused(desk):
    long = {"type": "section", "text": {"type": "plain_text", "text": "<" * 740}}  # 2,960 characters once escaped
    assert (await _refused(desk, [long] * 5))[0] == "msg_blocks_too_long"
    await desk.client().chat_postMessage(channel="C_SUPPORT", text="x", blocks=[long] * 4)


async def test_an_update_replaces_blocks_and_text_alone_removes_them(desk):
    client = desk.client()
    ts = (await client.chat_postMessage(channel="C_SUPPORT", text="one", blocks=[SECTION]))["ts"]
    with_blocks = await client.chat_update(channel="C_SUPPORT", ts=ts, text="two", blocks=[SECTION])
    assert "edited" not in with_blocks["message"]
    text_only = await client.chat_update(channel="C_SUPPORT", ts=ts, text="three")
    assert "blocks" not in text_only["message"]
    assert text_only["message"]["edited"]["user"] == "U_BOT"


async def test_only_own_messages_that_exist_can_be_changed(desk):
    client = desk.client()
    foreign_ts = (await desk.do("message", user="U_LEA", text="mine"))["ts"]
    update = client.chat_update(channel="C_SUPPORT", ts=foreign_ts, text="x")
    assert (await _error(update)).response["error"] == "cant_update_message"
    gone = client.chat_update(channel="C_SUPPORT", ts="1.000001", text="x")
    assert (await _error(gone)).response["error"] == "message_not_found"
    whispered = await client.chat_postEphemeral(channel="C_SUPPORT", user="U_LEA", text="psst")
    ephemeral = client.chat_update(channel="C_SUPPORT", ts=whispered["message_ts"], text="x")
    assert (await _error(ephemeral)).response["error"] == "message_not_found"


async def test_metadata_is_kept_over_updates_until_it_is_emptied(desk):
    client = desk.client()
    metadata = {"event_type": "card", "event_payload": {"key": "k-1"}}
    ts = (await client.chat_postMessage(channel="C_SUPPORT", text="x", metadata=metadata))["ts"]
    await client.chat_update(channel="C_SUPPORT", ts=ts, text="y")
    bare = await client.conversations_history(channel="C_SUPPORT")
    assert "metadata" not in bare["messages"][0]
    full = await client.conversations_history(channel="C_SUPPORT", include_all_metadata=True)
    assert full["messages"][0]["metadata"] == metadata
    await client.chat_update(channel="C_SUPPORT", ts=ts, text="z", metadata={})
    emptied = await client.conversations_history(channel="C_SUPPORT", include_all_metadata=True)
    assert "metadata" not in emptied["messages"][0]
    bad = client.chat_postMessage(channel="C_SUPPORT", text="x", metadata={"event_type": "card"})
    assert (await _error(bad)).response["error"] == "invalid_metadata_format"
    big = {"event_type": "card", "event_payload": {"key": "k" * 9000}}
    too_large = client.chat_postMessage(channel="C_SUPPORT", text="x", metadata=big)
    assert (await _error(too_large)).response["error"] == "metadata_too_large"


async def test_threads_are_counted_and_kept_out_of_the_channel_unless_broadcast(desk):
    client = desk.client()
    root = (await client.chat_postMessage(channel="C_SUPPORT", text="root"))["ts"]
    await client.chat_postMessage(channel="C_SUPPORT", text="quiet", thread_ts=root)
    await client.chat_postMessage(channel="C_SUPPORT", text="loud", thread_ts=root, reply_broadcast=True)
    history = (await client.conversations_history(channel="C_SUPPORT"))["messages"]
    assert [message["text"] for message in history] == ["loud", "root"]
    assert history[1]["reply_count"] == 2
    replies = (await client.conversations_replies(channel="C_SUPPORT", ts=root))["messages"]
    assert [message["text"] for message in replies] == ["root", "quiet", "loud"]
    assert replies[1]["parent_user_id"] == "U_BOT"
    lost = client.chat_postMessage(channel="C_SUPPORT", text="x", thread_ts="1.000001")
    assert (await _error(lost)).response["error"] == "thread_not_found"


async def test_history_is_paged_by_cursor(desk):
    client = desk.client()
    for n in range(5):
        await client.chat_postMessage(channel="C_SUPPORT", text=str(n))
    first = await client.conversations_history(channel="C_SUPPORT", limit=3)
    assert (first["has_more"], [m["text"] for m in first["messages"]]) == (True, ["4", "3", "2"])
    cursor = first["response_metadata"]["next_cursor"]
    second = await client.conversations_history(channel="C_SUPPORT", limit=3, cursor=cursor)
    assert (second["has_more"], [m["text"] for m in second["messages"]]) == (False, ["1", "0"])


async def test_a_deleted_message_with_replies_leaves_a_tombstone(desk):
    client = desk.client()
    root = (await client.chat_postMessage(channel="C_SUPPORT", text="root"))["ts"]
    await client.chat_postMessage(channel="C_SUPPORT", text="reply", thread_ts=root)
    await desk.do("delete", user="U_ADA", ts=root)
    kept = (await client.conversations_replies(channel="C_SUPPORT", ts=root))["messages"]
    assert [message.get("subtype") for message in kept] == ["tombstone", None]
    update = client.chat_update(channel="C_SUPPORT", ts=root, text="x")
    assert (await _error(update)).response["error"] == "message_not_found"


async def test_pins_are_listed_newest_first_and_only_once(desk):
    client = desk.client()
    posted = [(await client.chat_postMessage(channel="C_SUPPORT", text=str(n)))["ts"] for n in range(2)]
    for ts in posted:
        await client.pins_add(channel="C_SUPPORT", timestamp=ts)
    again = client.pins_add(channel="C_SUPPORT", timestamp=posted[0])
    assert (await _error(again)).response["error"] == "already_pinned"
    items = (await client.pins_list(channel="C_SUPPORT"))["items"]
    assert [item["message"]["text"] for item in items] == ["1", "0"]


async def test_people_groups_and_channels_can_be_read(desk):
    client = desk.client()
    assert (await client.users_info(user="U_GUS"))["user"]["is_restricted"] is True
    assert (await client.users_info(user="U_SOL"))["user"]["team_id"] == "T2"
    assert (await _error(client.users_info(user="U_NOBODY"))).response["error"] == "user_not_found"
    groups = {group["handle"]: group["id"] for group in (await client.usergroups_list())["usergroups"]}
    leads = await client.usergroups_users_list(usergroup=groups["support-leads"])
    assert leads["users"] == ["U_LEA", "U_IVO"]
    info = (await client.conversations_info(channel="C_SUPPORT"))["channel"]
    assert (info["is_private"], info["is_member"], info["name"]) == (True, True, "support")
    members = (await client.conversations_members(channel="C_SUPPORT"))["members"]
    assert "U_SOL" in members
    opened = (await client.conversations_open(users="U_LEA"))["channel"]["id"]
    await client.chat_postMessage(channel="U_LEA", text="just for you")
    assert (await client.conversations_history(channel=opened))["messages"][0]["text"] == "just for you"


async def test_a_permalink_leads_to_the_page(desk):
    client = desk.client()
    ts = (await client.chat_postMessage(channel="C_SUPPORT", text="x"))["ts"]
    link = (await client.chat_getPermalink(channel="C_SUPPORT", message_ts=ts))["permalink"]
    async with desk.http.get(link, allow_redirects=False) as response:
        assert (response.status, response.headers["Location"]) == (302, f"/#{ts}")


async def test_with_a_manifest_a_method_without_its_scope_is_refused(serve_with, tmp_path):
    manifest = tmp_path / "manifest.yml"
    manifest.write_text("oauth_config: {scopes: {bot: [chat:write, groups:history]}}")
    async with serve_with(manifest=manifest) as desk:
        client = desk.client()
        await client.conversations_history(channel="C_SUPPORT")
        error = (await _error(client.pins_list(channel="C_SUPPORT"))).response
        assert (error["error"], error["needed"]) == ("missing_scope", "pins:read")
