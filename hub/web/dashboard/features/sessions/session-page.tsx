import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import type { SessionMessage } from '../../../../../shared/client/operations.ts';
import { visibleLine, visibleText } from '../../../../../shared/visible-text.ts';
import { background } from '../../../../../shared/web/background.ts';
import { client, keyOf } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { Button } from '../../ui/button.tsx';
import { Card, Empty, Page, Section, TextLink } from '../../ui/layout.tsx';
import { LoadedPage } from '../../ui/loaded.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { LocalTime } from '../../ui/time.tsx';
import { CodeBlock } from '../../ui/value.tsx';

/** Reads a session with its messages page by page, oldest first. */
function useSessionMessages(id: string) {
  return useInfiniteQuery({
    queryKey: [...keyOf('getAutomationSession', { id }), 'pages'],
    queryFn: ({ pageParam, signal }) =>
      client.call(
        'getAutomationSession',
        { params: { id }, query: { limit: 100, ...(pageParam === null ? {} : { after: pageParam }) } },
        { signal },
      ),
    initialPageParam: null as string | null,
    getNextPageParam: ({ transcript }) => transcript.meta.nextCursor,
  });
}

function Message({ message: { role, content, runId, createdAt } }: { message: SessionMessage }) {
  const { words } = useLanguage();
  return (
    <li className="border-b px-4 py-3 last:border-b-0">
      <p className="mb-1 flex flex-wrap gap-x-3 text-sm text-text-muted">
        <span className="font-semibold">{words.sessions.roles[role]}</span>
        <LocalTime at={createdAt} />
        {runId !== null && (
          <TextLink to="/runs/$runId" params={{ runId }}>
            {words.sessions.run}
          </TextLink>
        )}
      </p>
      <p className="wrap-anywhere whitespace-pre-wrap">{visibleText(content)}</p>
    </li>
  );
}

/** One session: its messages, and the JSON of the API. */
export function SessionPage() {
  const { words } = useLanguage();
  const texts = words.sessions;
  const { sessionId } = useParams({ from: '/sessions/$sessionId' });
  const session = useSessionMessages(sessionId);
  const { view } = useSearch({ from: '/sessions/$sessionId' });
  const navigate = useNavigate({ from: '/sessions/$sessionId' });
  const crumbs = [{ label: words.common.sessions, link: { to: '/sessions' as const } }];
  return (
    <LoadedPage of={session} type="session" missing={words.sessions.missing} crumbs={crumbs}>
      {({ pages }) => {
        const last = pages.at(-1) as (typeof pages)[number];
        const { title, key, scope, memorySummary } = last;
        const messages = pages.flatMap(({ transcript }) => transcript.data);
        const shown = { ...last, transcript: { data: messages, meta: last.transcript.meta } };
        const more = session.hasNextPage && (
          <div className="p-3 text-center">
            <Button isBusy={session.isFetchingNextPage} onClick={() => background(session.fetchNextPage())}>
              {words.common.more}
            </Button>
          </div>
        );
        return (
          <Page
            title={visibleLine(title === '' ? key : title)}
            crumbs={crumbs}
            meta={`${texts.scopes[scope]} · ${visibleLine(key)}`}
          >
            <Tabs
              label={texts.parts}
              tabs={[
                { name: 'messages', label: texts.messages },
                { name: 'json', label: texts.json },
              ]}
              selected={view ?? 'messages'}
              onSelect={(name) =>
                background(navigate({ search: name === 'json' ? { view: name } : {}, replace: true }))
              }
            />
            {view === 'json' ? (
              <>
                <CodeBlock text={JSON.stringify(shown, null, 2)} label={texts.json} />
                {more}
              </>
            ) : (
              <div className="flex flex-col gap-3.5">
                {memorySummary !== '' && (
                  <Section title={texts.summary}>
                    <p className="wrap-anywhere whitespace-pre-wrap">{visibleText(memorySummary)}</p>
                  </Section>
                )}
                <Card>
                  {messages.length === 0 ? (
                    <Empty title={texts.noMessages} />
                  ) : (
                    <ol aria-label={texts.messages}>
                      {messages.map((message) => (
                        <Message key={message.id} message={message} />
                      ))}
                    </ol>
                  )}
                  {more}
                </Card>
              </div>
            )}
          </Page>
        );
      }}
    </LoadedPage>
  );
}
