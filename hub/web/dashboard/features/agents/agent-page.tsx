import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { query } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { Facts, Page, Section } from '../../ui/layout.tsx';
import { Loaded, LoadedPage } from '../../ui/loaded.tsx';
import { RelativeTime } from '../../ui/time.tsx';
import { CodeBlock } from '../../ui/value.tsx';

/** The skills that an agent may call. */
function Tools({ profileId }: { profileId: string }) {
  const texts = useLanguage().words.agents;
  const profile = useQuery(query('getAutomationToolProfile', { params: { id: profileId } }));
  return (
    <Section title={texts.profile}>
      <Loaded of={profile}>
        {({ name, allow, deny }) => (
          <Facts
            rows={[
              [texts.name, visibleLine(name)],
              [texts.allowed, visibleLine(allow.join(', ')) || texts.none],
              [texts.denied, visibleLine(deny.join(', ')) || texts.none],
            ]}
          />
        )}
      </Loaded>
    </Section>
  );
}

/** One AI agent: its instructions, its model and its tools. */
export function AgentPage() {
  const { words } = useLanguage();
  const texts = words.agents;
  const { agentId } = useParams({ from: '/agents/$agentId' });
  const agent = useQuery(query('getAutomationAgent', { params: { id: agentId } }));
  const crumbs = [{ label: words.common.agents, link: { to: '/agents' as const } }];
  return (
    <LoadedPage of={agent} type="agent" missing={words.agents.missing} crumbs={crumbs}>
      {({ createdAt: _createdAt, ...shown }) => (
        <Page title={visibleLine(shown.name)} crumbs={crumbs}>
          <div className="flex flex-col gap-3.5">
            <Section title={texts.prompt}>
              <CodeBlock text={shown.systemPrompt} label={texts.prompt} />
            </Section>
            <Section title={words.common.settings}>
              <Facts
                rows={[
                  [texts.model, shown.model === null ? texts.anyModel : visibleLine(shown.model)],
                  [texts.routes, visibleLine(shown.routeKeys.join(', ')) || texts.none],
                  ...(shown.toolProfileId === null ? [[texts.profile, texts.noProfile] as const] : []),
                  [texts.changed, <RelativeTime key="changed" at={shown.updatedAt} />],
                ]}
              />
            </Section>
            {shown.toolProfileId !== null && <Tools profileId={shown.toolProfileId} />}
            <Section title={texts.json}>
              <CodeBlock text={JSON.stringify(shown, null, 2)} label={texts.json} />
            </Section>
          </div>
        </Page>
      )}
    </LoadedPage>
  );
}
