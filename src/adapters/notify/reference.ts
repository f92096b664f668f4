import { homeAssistantForm, homeAssistantParameters } from './home-assistant/url.ts';
import type { Service } from './service/service.ts';
import { services } from './services/table.ts';
import { defaultTitle, type ParameterTable } from './service/parameters.ts';

/** The complete `docs/notifications.md` in Markdown. */
export function notificationsPage(): string {
  return [introduction, overview(), ...[...services, homeAssistant].map((service) => section(service)), webhookSchema]
    .join('\n\n')
    .concat('\n');
}

const introduction = `# Notifications

<!-- Written by scripts/docs.mjs from src/adapters/notify/services/: change it there. -->

Upkeep sends messages to targets. A target is a URL, in the form that Shoutrrr and Watchtower use: find yours under [services](#services), and try it:

    upkeep notify test --notification-url 'discord://tkn-A1b2C3d4E5f6_G7@123456789012345678'

The single quotes matter to the shell if the URL contains \`&\`, \`?\` or \`$\`. In \`compose.yaml\`, set \`UPKEEP_NOTIFICATION_URL\` under \`environment\`, run \`docker compose up --detach\` to apply it, then \`docker exec upkeep upkeep notify test\`. The test shows the answers of the services, \`upkeep notify preview\` the messages of a simulated run, \`upkeep notify list\` the targets and waiting messages.

## When messages are sent

- A failed update is sent at once, and again each day while it lasts. A failed check is sent again each week. Anything else, such as a rollback or an available update, is sent once. In the style of Watchtower, which a template or a \`WATCHTOWER_NOTIFICATION…\` variable switches on, each run repeats them; \`--notification-repeat=false\` stops that.
- \`--notification-quiet-hours 22:00-07:00\` holds the messages of the night back until 07:00, \`--notification-digest 08:00\` those of the day until 08:00, and then sends them as one; failed updates and rollbacks are sent at once. Times are in the zone of \`--timezone\` or \`TZ\`.
- While a service does not answer or limits the rate, its messages are tried again for three days, in order. A message that it refuses is given up after two attempts, a wrong token after four. With \`--state-dir\`, waiting messages survive a restart.
- The label \`upkeep.notify=ops\` sends messages about a container to the target \`ops=discord://…\` only, \`upkeep.notify=off\` to none.
- The title has the host and the outcome: \`nas: web failed and was rolled back\`. A failed version comes with its last log lines. Unless the URL sets a priority, failures get a high one, and messages without a change a low one.

Your own wording: [templates](notification-templates.md). All options: [configuration](configuration.md#notifications). Messages in the log: [operations](operations.md#notifications).

## URLs

- Separate several targets by spaces or commas, or repeat the option. To keep secrets out of the environment, give the path of a file with one target a line; a line that begins with \`#\` is a comment.
- \`ops=discord://…\` names a target. The default name is the service: \`discord\`, \`discord-2\`.
- In user names, passwords and tokens write \`/\` as \`%2F\`, \`#\` as \`%23\`, \`?\` as \`%3F\`, \`%\` as \`%25\`, a space as \`%20\`. After the \`?\`, write a comma in front of a URL as \`%2C\`, and a plus sign as \`%2B\`, because \`+\` means a space. In compose files, write \`$\` as \`$$\`.
- Keys, the names before \`=\` in the query, may be in any case. An invalid value and, with most services, an unknown key cause a warning; only an error in a recipient, a login or the encryption makes the URL invalid.
- Below, parentheses contain the kind of a key or its possible values, and its default in code type, as in (colour; \`0x50d9ff\`). A key after "also" does what its name says: \`title\` is for messages without a title (\`--notification-skip-title\`), \`disabletls=yes\` uses plain http; \`skiptlsverify=yes\`, \`insecureskipverify=yes\` and \`disabletlsverification=yes\` accept any certificate. Give a picture or an icon as its address. Colours: \`ffc441\`, \`0xffc441\`, \`%23ffc441\`, \`good\`, \`warning\`, \`danger\`, or a common name such as \`red\`.
- Webhook addresses (\`https://…\`) of Discord, Slack, Teams and Google Chat work unchanged; any other \`https://\` address gets the plain text.
- Upkeep never logs a URL, token or password.

An attempt may take 10 seconds. HTTP uses \`HTTP_PROXY\`, \`HTTPS_PROXY\` and \`NO_PROXY\`, and follows redirects within the same host only. A long text is split into at most ten messages (three for SMS). Names and log lines are sent without formatting and mention nobody; the text of your own template is sent as it is.`;

function overview(): string {
  const links = [...services, homeAssistant].map(({ title }) => `[${title}](#${anchor(title)})`);
  return `## Services\n\n${links.join(', ')}.`;
}

function section({ title, schemes, form, about, example, parameters }: Described): string {
  const others = (schemes ?? [])
    .filter((scheme) => !form.includes(scheme))
    .map((scheme) => `, or ${code(`${scheme}://`)}`);
  const keys = Object.keys(parameters).length === 0 ? [] : [keyList(parameters)];
  const forms = code(form).replaceAll(/(, or |, | or )(?=[a-z+]+:)/g, '`$1`');
  return [`### ${title}`, `${forms}${others.join('')}`, about, `    ${example}`, ...keys].join('\n\n');
}

type Described = Pick<Service, 'title' | 'form' | 'about' | 'example' | 'parameters'> &
  Partial<Pick<Service, 'schemes'>>;

function keyList(parameters: ParameterTable): string {
  const items = Object.entries(parameters).flatMap(([key, parameter]) => {
    const { aliases, kind, about, isRequired, fallback } = parameter;
    if (isUsual(parameter)) return [];
    const names = [key, ...aliases].map((name) => `\`${name}\``).join(' ');
    const usual = fallback === undefined ? '' : parameter.print(fallback);
    const kindShown = kind.replace('list, separated by commas', 'list').replace(/^(?:text|yes or no)$/, '');
    const notes = [kindShown, isRequired ? 'required' : usual && `\`${usual}\``].filter((note) => note !== '');
    return [`- ${names}${notes.length === 0 ? '' : ` (${notes.join('; ')})`}: ${about}`];
  });
  const others = Object.entries(parameters).filter(([, parameter]) => isUsual(parameter));
  const also = others.length === 0 ? [] : [`- also ${others.map(([key]) => `\`${key}\``).join(', ')}`];
  return [...items, ...also].join('\n');
}

/** Whether the introduction says all about a key. */
function isUsual(parameter: ParameterTable[string]): boolean {
  if (parameter === defaultTitle) return true;
  const { about, fallback, aliases, kind, isRequired } = parameter;
  const isPlain = kind === 'text' || kind === 'colour' || kind === 'list, separated by commas';
  const hasDefault = fallback !== '' && fallback !== undefined && !(Array.isArray(fallback) && fallback.length === 0);
  if (
    isPlain &&
    !isRequired &&
    !hasDefault &&
    /^(?!added |no effect)[^`]+$/.test(about) &&
    about.split(' ').length <= 4
  )
    return true;
  if (aliases.length > 0) return false;
  return fallback === false && (about === 'plain http' || about === 'accept any certificate');
}

/** Not a target for messages, but described like a service. */
const homeAssistant: Described = {
  title: 'Home Assistant',
  form: homeAssistantForm,
  about:
    'Each container gets an `update` entity, through the broker of the MQTT integration: installed and latest version, a picture, a link to the releases, why a newer version waits, and the progress of an update. The entities appear while the service runs. Home Assistant gets no messages, so `upkeep notify test` leaves it out; `upkeep notify list` shows its URL. The entity belongs to the name of the container, and is removed ten minutes after the container. The picture is the icon of a label (`io.artifacthub.package.logo-url`, `org.opencontainers.image.logo`, `net.unraid.docker.icon`, `homepage.icon`), or that of Home Assistant.\n\n`install=yes` adds a button Install to each entity, but not to those of Upkeep itself and of `--rm` containers. It waits for no approval, window or cooldown, and also updates what is only monitored or was rolled back, but installs no skipped or unsigned version. The event entity "Last request" says why a press did nothing. The user of the broker needs permission to publish and read below `homeassistant/` and `upkeep/`.',
  example: 'homeassistant+mqtt://upkeep:br0ker-Pa55@broker.example.com?install=yes',
  parameters: homeAssistantParameters,
};

const webhookSchema = `## The body of a signed webhook

The headers follow [Standard Webhooks](https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md). A repeated message has the same \`webhook-id\`. \`webhook-timestamp\` is in Unix seconds: refuse a difference of more than five minutes. \`webhook-signature\` has, for each secret, \`v1,\` and the base64 of HMAC-SHA256 over \`ID.TIMESTAMP.BODY\`, separated by spaces; the key of a \`whsec_\` secret is its decoded base64. \`x-hub-signature-256\` is \`sha256=\` and the hexadecimal HMAC-SHA256 over the body alone, with the first secret. A message that is answered with 410 is not sent again.

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

function code(text: string): string {
  return `\`${text}\``;
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
