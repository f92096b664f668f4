import { homeAssistantForm, homeAssistantParameters } from './home-assistant/url.ts';
import type { Service } from './service/service.ts';
import { services } from './services/table.ts';
import type { ParameterTable } from './service/parameters.ts';

/** The complete `docs/notifications.md` in Markdown. */
export function notificationsPage(): string {
  return [introduction, overview(), ...[...services, homeAssistant].map(section), webhookSchema]
    .join('\n\n')
    .concat('\n');
}

const introduction = `# Where notifications go

<!-- Written by scripts/docs.mjs from src/adapters/notify/services/: change it there. -->

A target is a URL in the form of Watchtower and Shoutrrr. Separate several targets by white space or commas, or repeat the option. To keep secrets out of the environment, give the path of a file: each line is one target, which may contain spaces, and a line that begins with \`#\` is a comment.

- \`ops=discord://…\` gives a target a name. The default name is the service: \`discord\`, \`discord-2\`.
- Keys of the query are case-insensitive. The first value of a key counts. Upkeep warns about an unknown key, and about a value that it cannot read, whose default then counts. Only a key that names a recipient, a login or the protection of the connection must be right.
- Escape in user names, passwords and tokens: \`/\` as \`%2F\`, \`#\` as \`%23\`, \`?\` as \`%3F\`, \`%\` as \`%25\`, a space as \`%20\`, a comma before a URL in a value as \`%2C\`. A \`+\` in the query is a space.
- yes or no: \`yes\`, \`true\`, \`1\`, \`y\`, \`no\`, \`false\`, \`0\`, \`n\`. Colours: \`ffc441\`, \`0xffc441\`, \`%23ffc441\`, a decimal number of seven or eight digits, \`good\`, \`warning\`, \`danger\`, or a name of CSS such as \`red\`.
- Plain \`https://\` webhook addresses of Discord, Slack, Teams and Google Chat are recognised; any other \`https://\` address gets the plain text.

A message in Upkeep's own wording has its outcome in the title: \`nas: web failed and was rolled back\`. Services with priorities get one by the outcome, unless the URL has one: high for a failure, low if nothing has changed, else their default. A version that failed is told with the lines of its log that say why. Times are those of \`TZ\`. In the text of Upkeep, other words than its own have no formatting and mention nobody; the text of your own template is sent as it is.

Each attempt to deliver a message has a deadline of 10 seconds. HTTP uses the proxies of \`HTTP_PROXY\` and \`HTTPS_PROXY\`, except for the hosts of \`NO_PROXY\`. Redirects are followed within the same host only. A text beyond the limit of a service is split at line ends into at most ten messages (three for SMS); the last one counts the omitted lines: \`… 34 more lines\`. Upkeep never logs a URL, token or password. It shows a target by its name and the parts of its URL that are not secret.`;

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

/** Not a target for messages, but described like a service. */
const homeAssistant: Described = {
  title: 'Home Assistant',
  form: homeAssistantForm,
  about:
    'Each container has an `update` entity, through the broker of the MQTT integration. The entity shows the installed and the latest version, a picture, a link to the releases or the source of the newer image, why a newer version waits, and the progress of an update. It lives as long as the name of the container: through updates, stops, restarts and a new container of Upkeep. It is removed when there has been no such container for ten minutes. It is unavailable while Upkeep is offline. The picture is the icon that a label gives (`io.artifacthub.package.logo-url`, `org.opencontainers.image.logo`, `net.unraid.docker.icon`, `homepage.icon`), or the one that Home Assistant has for the software.\n\nWith `install=yes`, each entity has the button Install, and there is a button to check now. Install is the word of a person: it also updates what waits for an approval, a window or a cooldown, what is only monitored (`--monitor-only`), and, once more, a version that was rolled back. It does not release a skipped or snoozed version, or one without a required signature. A container that is pinned to a digest, or was started with `--rm` (without `--update-auto-remove`), has no button. The entity and the event entity "Last request" say why a press did nothing. The user then needs permission to publish and read below `upkeep/`; Upkeep tests this before it adds buttons.',
  example: 'homeassistant+mqtt://upkeep:br0ker-Pa55@broker.example.com?install=yes',
  parameters: homeAssistantParameters,
};

const webhookSchema = `## The body of a signed webhook

A message that is sent again has the same \`webhook-id\`, so a receiver can ignore the repeat. \`webhook-timestamp\` is in Unix seconds: refuse a difference of more than five minutes. \`webhook-signature\` follows [Standard Webhooks](https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md): for each secret \`v1,\` and the base64 of HMAC-SHA256 over \`ID.TIMESTAMP.BODY\`, separated by spaces. The key of a \`whsec_\` secret is its decoded base64. \`x-hub-signature-256\` is \`sha256=\` and the hexadecimal HMAC-SHA256 over the body alone, with the first secret. After the answer 410, a message is not sent again.

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
    "text": { "type": "string", "description": "the text for people" },
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
