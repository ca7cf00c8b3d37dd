// An editor on the protocol's TypeScript library: node editor.mjs LIBRARY DIRECTORY COMMAND [ARG ...]
// Plays one scenario with the agent, and prints what it saw, and every line of the agent, as JSON.

import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [library, cwd, program, ...args] = process.argv.slice(2);
const acp = await import(pathToFileURL(`${library}/dist/v1/unstable/acp.js`));
const agent = spawn(program, args, { cwd, stdio: ["pipe", "pipe", "inherit"] });

const seen = { asked: [], stops: [], replayed: [], sent: "" };
const chosen = []; // the beginning of the name of the option for each question, in order
const updates = [];
let onQuestion = () => {};

function decide({ params }) {
  const { toolCall, options } = params;
  const diffs = toolCall.content.filter((each) => each.type === "diff");
  seen.asked.push({ title: toolCall.title, options: options.map((each) => each.name), diffs });
  onQuestion();
  const name = chosen.shift();
  if (name === undefined) return new Promise(() => {}); // the user is away
  const { optionId } = options.find((each) => each.name.startsWith(name));
  return { outcome: { outcome: "selected", optionId } };
}

async function scenario(ctx) {
  const { agent: request } = acp.methods;
  const say = async (sessionId, text) => {
    const { stopReason } = await ctx.request(request.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
    seen.stops.push(stopReason);
  };
  seen.protocol = (await ctx.request(request.initialize, { protocolVersion: 1, clientCapabilities: {} })).protocolVersion;
  const { sessionId } = await ctx.request(request.session.new, { cwd, mcpServers: [] });
  chosen.push("Allow once", "Reject and stop", "Always allow in this session");
  await say(sessionId, "edit the file");
  await say(sessionId, "make a directory");
  await say(sessionId, "because it is not needed: run the tests, twice");

  const asked = new Promise((resolve) => (onQuestion = resolve));
  const prompt = say(sessionId, "delete it all");
  await asked;
  await ctx.notify(request.session.cancel, { sessionId });
  await prompt;

  await ctx.request(request.session.close, { sessionId });
  updates.length = 0;
  await ctx.request(request.session.load, { sessionId, cwd, mcpServers: [] });
  seen.replayed = updates.filter((each) => each.sessionUpdate === "user_message_chunk").map((each) => each.content.text);
  const fork = await ctx.request("session/fork", { sessionId, cwd, mcpServers: [] });
  await say(fork.sessionId, "go on from there");
  seen.isForked = fork.sessionId !== sessionId;
  seen.listed = (await ctx.request(request.session.list, { cwd })).sessions.map((each) => each.sessionId);
}

const [messages, copy] = Readable.toWeb(agent.stdout).tee();
const recorded = new Response(copy).text();
const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), messages);
await acp
  .client({ name: "editor" })
  .onRequest(acp.methods.client.session.requestPermission, decide)
  .onNotification(acp.methods.client.session.update, ({ params }) => void updates.push(params.update))
  .connectWith(stream, scenario);
agent.stdin.end();
seen.sent = await recorded;
process.stdout.write(JSON.stringify(seen));
