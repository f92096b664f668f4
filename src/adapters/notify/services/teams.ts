import { defaultTitle, text } from '../service/parameters.ts';
import { InvalidUrlError, isWorkflow } from '../service/url.ts';
import { jsonPost, cutText } from '../service/requests.ts';
import { refusal } from '../service/answer.ts';
import { defineService } from '../service/service.ts';
import { writtenFor } from '../service/markup.ts';

/** https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using */
export const teams = defineService({
  schemes: ['teams'],
  title: 'Microsoft Teams',
  form: 'teams://?host=WORKFLOW_ADDRESS',
  about:
    'In Teams, choose "Workflows" for the channel, then "Post to a channel when a webhook request is received". Percent-encode the address of the workflow as `host`.',
  example:
    'teams://?host=https%3A%2F%2Fprod-01.westeurope.logic.azure.com%3A443%2Fworkflows%2Fabc123%2Ftriggers%2Fmanual%2Fpaths%2Finvoke%3Fsig%3Dsecret123&color=good',
  parameters: {
    host: text('address of the workflow', { isRequired: true, isSecret: true }),
    title: defaultTitle,
    color: text('of the heading: accent, good, warning, attention, dark, light, default'),
  },
  otherKeys: 'ignored',
  readAddress({ host, user }, values) {
    if (host !== '' || user !== '' || /webhook\.office\.com/.test(values.host))
      throw new InvalidUrlError(
        'it',
        'belongs to a connector, which Microsoft has retired; make a workflow for the channel',
      );
    const url = URL.canParse(values.host) ? new URL(values.host) : undefined;
    if (url !== undefined && isWorkflow(url)) return url;
    throw new InvalidUrlError(
      'the key "host"',
      'is not the address of a workflow (https://….logic.azure.com/…/workflows/…)',
    );
  },
  secrets: ({ address: { href, pathname, searchParams } }) => [
    ...[href, pathname, ...searchParams.values()],
    ...pathname.split('/').filter((segment) => segment.length >= 12),
  ],
  open({ address, values }) {
    const color = colourName(values.color);
    return {
      judge: (answer) => (answer.status === 404 ? refusal(answer, 'gone') : undefined),
      requests(message) {
        const { title, text: words } = writtenFor('teams', message, values.title);
        const heading = plainBlock(title, { weight: 'Bolder', size: 'Medium', color });
        const lines = blocksOf(words, message.isFromTemplate === true ? markedBlock : plainBlock);
        return [jsonPost(address.href, cardMessage(title === '' ? lines : [heading, ...lines]))];
      },
    };
  },
});

/** A message may have 28 kB, with the frame of the card. */
const maxInBlocks = 26_000;

/** A block for each line. The card adds up to 70 bytes to each, so the room for text depends on the lines. */
function blocksOf(text: string, block: (line: string) => object): readonly object[] {
  for (let max = 12_000; ; max -= 1000) {
    const blocks = cutText(text, { max, unit: 'bytes' })
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => block(line));
    if (max === 1000 || Buffer.byteLength(JSON.stringify(blocks)) <= maxInBlocks) return blocks;
  }
}

/** A text run knows no markup: https://adaptivecards.io/explorer/RichTextBlock.html */
function plainBlock(text: string, style: object = {}): object {
  return { type: 'RichTextBlock', inlines: [{ type: 'TextRun', text, ...style }] };
}

/** A text block has Markdown: https://adaptivecards.io/explorer/TextBlock.html */
function markedBlock(text: string): object {
  return { type: 'TextBlock', text, wrap: true };
}

/** https://adaptivecards.io/explorer/AdaptiveCard.html */
function cardMessage(body: readonly object[]): object {
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.2',
    body,
  };
  const contentType = 'application/vnd.microsoft.card.adaptive';
  return { type: 'message', attachments: [{ contentType, contentUrl: null, content }] };
}

/** The nearest colours that a card has. */
const colourNames: Readonly<Record<string, string>> = {
  accent: 'accent',
  good: 'good',
  warning: 'warning',
  attention: 'attention',
  dark: 'dark',
  light: 'light',
  red: 'attention',
  orange: 'warning',
  yellow: 'warning',
  green: 'good',
  blue: 'accent',
};

function colourName(written: string): string {
  const name = written.trim().toLowerCase();
  return (Object.hasOwn(colourNames, name) ? colourNames[name] : undefined) ?? 'default';
}
