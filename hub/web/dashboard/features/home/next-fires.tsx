import { useQuery } from '@tanstack/react-query';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { query } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { Section, TextLink } from '../../ui/layout.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { LocalTime, RelativeTime } from '../../ui/time.tsx';

/** The API cannot sort by the next fire, so the workflows of one page are compared. */
const readWorkflows = 100;
const shownFires = 5;

/** The schedules that fire next. */
export function NextFires() {
  const { words, format } = useLanguage();
  const texts = words.home;
  const workflows = useQuery(
    query('listAutomationWorkflowSummaries', { query: { active: 'true', sort: 'updatedAt', limit: readWorkflows } }),
  );
  return (
    <Section title={texts.next} actions={<TextLink to="/schedules">{texts.allSchedules}</TextLink>}>
      <Loaded of={workflows}>
        {({ data, meta }) => {
          const fires = data
            .flatMap(({ id, name, nextRunAt }) => (nextRunAt === null ? [] : [{ id, name, nextRunAt }]))
            .toSorted((one, other) => (one.nextRunAt < other.nextRunAt ? -1 : 1))
            .slice(0, shownFires);
          return (
            <>
              {fires.length === 0 && (
                <p className="text-text-muted">
                  {meta.nextCursor === null ? texts.nextEmpty : format(texts.nextPartlyEmpty, { count: readWorkflows })}
                </p>
              )}
              <ul>
                {fires.map(({ id, name, nextRunAt }) => (
                  <li key={id} className="border-b py-2 first:pt-0 last:border-b-0 last:pb-0">
                    <TextLink to="/workflows/$workflowId/{-$tab}" params={{ workflowId: id }}>
                      <span className="wrap-anywhere">{visibleLine(name)}</span>
                    </TextLink>
                    <div className="text-sm text-text-muted">
                      <RelativeTime at={nextRunAt} /> · <LocalTime at={nextRunAt} />
                    </div>
                  </li>
                ))}
              </ul>
              {fires.length > 0 && meta.nextCursor !== null && (
                <p className="mt-2 text-sm text-text-muted">{format(texts.nextPartly, { count: readWorkflows })}</p>
              )}
            </>
          );
        }}
      </Loaded>
    </Section>
  );
}
