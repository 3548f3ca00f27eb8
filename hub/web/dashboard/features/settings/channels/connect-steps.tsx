import { useWords } from '../../../app/language.tsx';
import { Section } from '../../../ui/layout.tsx';
import { CodeBlock } from '../../../ui/value.tsx';
import type { Channel } from './providers.ts';

/** The command that connects or tries the channel; secrets are placeholders, because the hub does not return them. */
function commandOf({ provider }: Channel, url: string): string | null {
  if (provider === 'telegram')
    return `curl https://api.telegram.org/botBOT_TOKEN/setWebhook -d url=${url} -d secret_token=INBOUND_SECRET`;
  if (provider === 'webhook' || provider === 'email')
    return [
      `curl ${url}`,
      `-H 'X-Service-Automation-Token: INBOUND_SECRET'`,
      `-H 'Content-Type: application/json' -d '{"text":"Hello","from":"ann@example.com"}'`,
    ].join(' \\\n  ');
  return null;
}

/** The steps that make a provider send its messages to this hub, and how the provider verifies the address. */
export function ConnectSteps({ channel }: { channel: Channel }) {
  const { settings } = useWords();
  const words = settings.channels;
  const url = `${location.origin}${channel.inboundPath}`;
  const command = commandOf(channel, url);
  return (
    <Section title={words.connect}>
      <p className="mb-2 text-text-muted">{words.connectTexts[channel.provider]}</p>
      <h3 className="mb-1">{words.inboundUrl}</h3>
      <CodeBlock text={url} label={words.inboundUrl} />
      {command !== null && (
        <>
          <h3 className="mt-3 mb-1">{channel.provider === 'telegram' ? words.setWebhook : words.tryIt}</h3>
          <CodeBlock text={command} label={words.tryIt} />
        </>
      )}
    </Section>
  );
}
