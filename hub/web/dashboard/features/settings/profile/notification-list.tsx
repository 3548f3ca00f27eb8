import { useQuery, useQueryClient } from '@tanstack/react-query';
import { visibleLine } from '../../../../../../shared/visible-text.ts';
import { query, useAction } from '../../../app/api.ts';
import { useWords } from '../../../app/language.tsx';
import { reread } from '../../../app/live-updates.tsx';
import { Button } from '../../../ui/button.tsx';
import { ErrorNote } from '../../../ui/error.tsx';
import { Section } from '../../../ui/layout.tsx';
import { Loaded } from '../../../ui/loaded.tsx';
import { RelativeTime } from '../../../ui/time.tsx';
import { clientName } from './client-name.ts';

/** The browsers that get notifications of the user. */
export function NotificationList() {
  const { profile } = useWords().settings;
  const cache = useQueryClient();
  const state = useQuery(query('readPushState'));
  const remove = useAction('deletePushSubscription', { onDone: () => reread(cache, ['readPushState']) });
  const nameOf = (client: string | null) =>
    client === null ? profile.unknownClient : (clientName(client) ?? visibleLine(client));
  return (
    <Section title={profile.notifications}>
      <p className="mb-3 text-text-muted">{profile.notificationsText}</p>
      <Loaded of={state}>
        {({ subscriptions }) =>
          subscriptions.length === 0 ? (
            <p className="mb-3">{profile.noNotifications}</p>
          ) : (
            <ul className="divide-y">
              {subscriptions.map(({ id, client, createdAt, renewedAt, refusedSince, isStopped }) => (
                <li key={id} className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3.5 py-2.5">
                  <div className="min-w-48 flex-1">
                    <p className="font-semibold wrap-anywhere">{nameOf(client)}</p>
                    <p className="text-sm text-text-muted">
                      {profile.notificationsSince} <RelativeTime at={createdAt} /> · {profile.notificationsUsed}{' '}
                      <RelativeTime at={renewedAt} />
                    </p>
                    {refusedSince !== null && (
                      <p className="text-sm text-danger">
                        {isStopped ? profile.notificationsStopped : profile.notificationsRefused}{' '}
                        <RelativeTime at={refusedSince} />
                      </p>
                    )}
                  </div>
                  <span className="ms-auto">
                    <Button
                      size="small"
                      variant="quiet"
                      aria-label={`${profile.removeNotifications}: ${nameOf(client)}`}
                      isBusy={remove.isPending}
                      onClick={() => remove.start({ params: { id } })}
                    >
                      {profile.removeNotifications}
                    </Button>
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      <ErrorNote error={remove.error} />
      {/* A document of its own, because this one forbids service workers. */}
      <a className="mt-3 inline-block text-accent underline" href="/app/notify">
        {profile.setUpNotifications}
      </a>
    </Section>
  );
}
