import { homeAssistantForm, homeAssistantParameters } from './home-assistant/url.ts';
import type { Service } from './service/service.ts';
import { services } from './services/table.ts';
import type { ParameterTable } from './url/parameters.ts';

/** The complete `docs/notifications.md` in Markdown. */
export function notificationsPage(): string {
  return [introduction, overview(), ...[...services, homeAssistant].map(section), webhookSchema]
    .join('\n\n')
    .concat('\n');
}

const introduction = `# Where notifications go

<!-- Written by scripts/docs.mjs from src/adapters/notify/services/: change it there. -->

A target is a URL, in the form that Watchtower and Shoutrrr know. Several are parted by white space or commas, or given one by one; a value that is the path of a file stands for the lines of that file, where \`#\` begins a comment: so the secrets in them can stay out of the environment.

- \`ops=discord://…\` gives a target a name. Without one it is called after its service, \`discord\`, \`discord-2\`.
- Keys of the query are matched without case, the first value of a key counts, and a key that means nothing is warned about.
- Escape in user names, passwords and tokens: \`/\` as \`%2F\`, \`#\` as \`%23\`, \`?\` as \`%3F\`, \`%\` as \`%25\`, a space as \`%20\`. A \`+\` in the query is a space.
- yes or no: \`yes\`, \`true\`, \`1\`, \`y\`, \`no\`, \`false\`, \`0\`, \`n\`. Colours: \`ffc441\`, \`0xffc441\` or \`%23ffc441\`.
- Plain \`https://\` addresses of webhooks of Discord, Slack, Teams and Google Chat are recognised; any other one gets the text as it is.

A target has 10 seconds. HTTP goes through the proxies of \`HTTP_PROXY\` and \`HTTPS_PROXY\`, except to the hosts of \`NO_PROXY\`. A redirect is followed within the same host only. A text that is longer than a service takes is parted at line ends into at most ten messages (three for text messages on telephones), and what is left out is counted: \`… 34 more lines\`. No URL, token or password is ever logged: what is shown of a target is its name and the part of its URL that is no secret.`;

function overview(): string {
  const rows = services.map(({ title, schemes, form }) => [
    `[${title}](#${anchor(title)})`,
    schemes.map((scheme) => code(`${scheme}://`)).join(' '),
    code(form),
  ]);
  return `## Services\n\n${table(['Service', 'Scheme', 'Form'], rows)}`;
}

function section({ title, form, about, example, parameters }: Described): string {
  const keys = Object.keys(parameters).length === 0 ? [] : [keyTable(parameters)];
  return [`### ${title}`, code(form), about, `    ${example}`, ...keys].join('\n\n');
}

type Described = Pick<Service, 'title' | 'form' | 'about' | 'example' | 'parameters'>;

function keyTable(parameters: ParameterTable): string {
  const rows = Object.entries(parameters).map(([key, parameter]) => {
    const names = [key, ...parameter.aliases].map(code).join(' ');
    const usual = parameter.fallback === undefined ? '' : parameter.print(parameter.fallback);
    const shown = usual === '' ? '' : code(usual);
    return [names, escaped(parameter.kind), parameter.isRequired ? 'required' : shown, escaped(parameter.about)];
  });
  return table(['Key', 'Value', 'Default', 'Meaning'], rows);
}

/** Not a target for messages, but described like one. */
const homeAssistant: Described = {
  title: 'Home Assistant',
  form: homeAssistantForm,
  about:
    'An `update` entity for each container, through the broker of the MQTT integration: installed and latest version, release notes, progress, and unavailable while Upkeep is away. Entities of containers that are gone are removed. With `install=yes` each has a button, except where a container is only monitored, and there is one to check now; the broker has to let the user publish and read below `upkeep/`, which is tried out before there are buttons.',
  example: 'homeassistant+mqtt://upkeep:br0ker-Pa55@broker.example.com?install=yes',
  parameters: homeAssistantParameters,
};

const webhookSchema = `## The body of a signed webhook

\`webhook-id\` stays the same when a message is sent again, so a receiver that has seen it can leave it. \`webhook-timestamp\` is in Unix seconds: refuse one that is more than five minutes away. \`webhook-signature\` holds, parted by spaces, a \`v1,\` and the base64 of HMAC-SHA256 over \`ID.TIMESTAMP.BODY\` for each secret, as [Standard Webhooks](https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md) does it; the key of a \`whsec_\` secret is what its base64 says. \`x-hub-signature-256\` is \`sha256=\` and the hexadecimal HMAC-SHA256 over the body alone, with the first secret. An answer of 410 ends the deliveries.

\`\`\`json
{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "required": ["id", "type", "time", "host", "version", "level", "title", "text"],
  "properties": {
    "id": { "type": "string" },
    "type": { "type": "string", "description": "message, or the type of the event" },
    "time": { "type": "string", "format": "date-time" },
    "host": { "type": "string" },
    "version": { "type": "string", "description": "of Upkeep" },
    "level": { "enum": ["debug", "info", "warn", "error"] },
    "title": { "type": "string" },
    "text": { "type": "string", "description": "what people read" },
    "data": { "description": "of the event, as in the HTTP API" }
  }
}
\`\`\``;

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [heads, heads.map(() => '---'), ...rows];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function code(text: string): string {
  return `\`${escaped(text)}\``;
}

function escaped(text: string): string {
  return text.replaceAll('|', String.raw`\|`);
}

/**
 * Section links as GitHub makes them:
 * https://docs.github.com/get-started/writing-on-github/getting-started-with-writing-and-formatting-on-github/basic-writing-and-formatting-syntax#section-links
 */
function anchor(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} -]/gu, '')
    .replaceAll(' ', '-');
}
