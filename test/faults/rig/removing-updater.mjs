// An updater that removes first: pull, stop, remove, create, start. It is the baseline of the campaigns.
// `removing-updater.mjs SOCKET NAME…` updates these containers to the current images of their tags.
import { once } from 'node:events';
import { request } from 'node:http';
import { buffer } from 'node:stream/consumers';

const [socketPath, ...names] = process.argv.slice(2);
for (const name of names) await update(name);

async function update(name) {
  const old = await call('GET', `/containers/${name}/json`);
  if (old.status === 404) return;
  const { Id, Config, HostConfig, State } = old.body;
  await call('POST', `/images/create?fromImage=${encodeURIComponent(Config.Image)}`);
  const { body: image } = await call('GET', `/images/${encodeURIComponent(Config.Image)}/json`);
  if (image.Id === old.body.Image) return;
  await call('POST', `/containers/${Id}/stop`);
  await call('DELETE', `/containers/${Id}?force=1`);
  const { Image, Cmd, StopTimeout, ExposedPorts } = Config;
  const created = await call('POST', `/containers/create?name=${name}`, {
    Image,
    Cmd,
    StopTimeout,
    ExposedPorts,
    HostConfig,
  });
  if (State.Running) await call('POST', `/containers/${created.body.Id}/start`);
}

async function call(method, path, body) {
  const headers = body === undefined ? {} : { 'content-type': 'application/json' };
  const asked = request({ socketPath, method, path, headers });
  asked.end(body === undefined ? undefined : JSON.stringify(body));
  const [reply] = await once(asked, 'response');
  const text = (await buffer(reply)).toString();
  return { status: reply.statusCode, body: text.startsWith('{') && !text.includes('}\r\n{') ? JSON.parse(text) : text };
}
