import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { visibleLine } from '../../../../../../shared/visible-text.ts';
import { pagedQuery, useAction } from '../../../app/api.ts';
import type { Answer } from '../../../app/api.ts';
import { useLanguage } from '../../../app/language.tsx';
import { reread } from '../../../app/live-updates.tsx';
import { Button } from '../../../ui/button.tsx';
import { ErrorNote } from '../../../ui/error.tsx';
import { Section } from '../../../ui/layout.tsx';
import { Pill } from '../../../ui/status.tsx';
import { RelativeTime } from '../../../ui/time.tsx';
import { showToast } from '../../../ui/toasts.tsx';
import { PagedRows } from '../parts/paged-rows.tsx';
import { clientName } from './client-name.ts';

type OwnSession = Answer<'listOwnSessions'>['data'][number];

const pageRows = 10;

function SessionRow({ session, end }: { session: OwnSession; end: { isPending: boolean; start: () => void } }) {
  const words = useLanguage().words.settings.profile;
  const name =
    session.client === null ? words.unknownClient : (clientName(session.client) ?? visibleLine(session.client));
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3.5 py-2.5">
      <div className="min-w-0">
        <p className="font-semibold wrap-anywhere">{name}</p>
        <p className="text-sm text-text-muted">
          {words.signedInSince} <RelativeTime at={session.createdAt} />
        </p>
      </div>
      <span className="ms-auto">
        {session.isCurrent ? (
          <Pill tone="success">{words.thisSession}</Pill>
        ) : (
          <Button
            size="small"
            variant="quiet"
            aria-label={`${words.endSession}: ${name}`}
            isBusy={end.isPending}
            onClick={end.start}
          >
            {words.endSession}
          </Button>
        )}
      </span>
    </li>
  );
}

/** Where the user is signed in. */
export function SessionList() {
  const { words, format } = useLanguage();
  const { profile } = words.settings;
  const cache = useQueryClient();
  const list = useInfiniteQuery(pagedQuery('listOwnSessions', { query: { limit: pageRows } }));
  const end = useAction('endOwnSession', { onDone: () => reread(cache, ['listOwnSessions']) });
  const endOthers = useAction('endOtherOwnSessions', {
    onDone: ({ ended }) => {
      reread(cache, ['listOwnSessions']);
      showToast(format(profile.othersEnded, { count: ended }));
    },
  });
  return (
    <Section title={profile.sessions}>
      <p className="mb-3 text-text-muted">{profile.sessionsText}</p>
      <PagedRows list={list} operation="listOwnSessions" empty={null}>
        {(sessions) => (
          <ul className="divide-y">
            {sessions.map((session) => (
              <SessionRow
                key={session.id}
                session={session}
                end={{ isPending: end.isPending, start: () => end.start({ params: { id: session.id } }) }}
              />
            ))}
          </ul>
        )}
      </PagedRows>
      <ErrorNote error={end.error ?? endOthers.error} />
      <div className="mt-3">
        <Button isBusy={endOthers.isPending} onClick={() => endOthers.start()}>
          {profile.endOthers}
        </Button>
      </div>
    </Section>
  );
}
