import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { Workflow } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { keyOf, query } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { useRereadOn } from '../../app/live-updates.tsx';
import { ButtonLink } from '../../ui/button.tsx';
import { Card, Empty, Page, Section, TextLink } from '../../ui/layout.tsx';
import { Loaded, LoadedPage } from '../../ui/loaded.tsx';
import { RunLink } from '../../ui/object-links.tsx';
import { Pill, StatusPill } from '../../ui/status.tsx';
import { Cell, Row, Table } from '../../ui/table.tsx';
import { Duration, LocalTime, RelativeTime } from '../../ui/time.tsx';
import { CodeBlock } from '../../ui/value.tsx';
import { beginOf } from '../run/run-model.ts';
import { scheduleOf, ScheduleTimes } from './schedule-times.tsx';
import { readerZone } from './zoned-time.ts';

const shownRuns = 10;
/** The last runs are read again at most this often. */
const rereadMs = 5_000;

/** The last runs that the schedule started. */
function LastRuns({ workflow: { id, triggerJson } }: { workflow: Workflow }) {
  const texts = useLanguage().words.schedules;
  const input = { query: { workflowId: id, triggerType: triggerJson.type, limit: shownRuns } } as const;
  const runs = useQuery(query('listAutomationRuns', input));
  useRereadOn(({ type, workflowId }) => type === 'run' && workflowId === id, [keyOf('listAutomationRuns', input)], {
    everyMs: rereadMs,
  });
  return (
    <Section
      title={texts.runs}
      actions={
        <TextLink to="/workflows/$workflowId/{-$tab}" params={{ workflowId: id, tab: 'runs' }}>
          {texts.allRuns}
        </TextLink>
      }
    >
      <Loaded of={runs}>
        {({ data }) =>
          data.length === 0 ? (
            <p className="text-text-muted">{texts.noRuns}</p>
          ) : (
            <Table head={[texts.run, texts.status, texts.took]}>
              {data.map((run) => (
                <Row key={run.id}>
                  <Cell>
                    <RunLink runId={run.id}>
                      <LocalTime at={run.queuedAt} />
                    </RunLink>
                  </Cell>
                  <Cell>
                    <StatusPill status={run.status} />
                  </Cell>
                  <Cell>
                    <Duration from={beginOf(run)} to={run.finishedAt} />
                  </Cell>
                </Row>
              ))}
            </Table>
          )
        }
      </Loaded>
    </Section>
  );
}

/** The schedule of one workflow: its rule, its next times, its last runs and its JSON. */
export function SchedulePage() {
  const { words, format } = useLanguage();
  const texts = words.schedules;
  const { workflowId } = useParams({ from: '/schedules/$workflowId' });
  const input = { params: { id: workflowId } };
  const workflow = useQuery(query('getAutomationWorkflow', input));
  useRereadOn(({ type, id }) => type === 'workflow' && id === workflowId, [keyOf('getAutomationWorkflow', input)]);
  const crumbs = [{ label: words.common.schedules, link: { to: '/schedules' as const } }];
  return (
    <LoadedPage of={workflow} type="schedule" missing={words.schedules.missing} crumbs={crumbs}>
      {(loaded) => {
        const { id, name, active, environment, triggerJson, nextRunAt, updatedAt } = loaded;
        const schedule = scheduleOf(loaded);
        return (
          <Page
            title={visibleLine(name)}
            crumbs={crumbs}
            aside={
              schedule !== null && (
                <Pill tone={active ? 'success' : 'neutral'}>{active ? words.workflows.on : words.workflows.off}</Pill>
              )
            }
            meta={
              schedule === null ? undefined : (
                <>
                  {nextRunAt !== null && (
                    <>
                      {words.workflows.nextRun}: <RelativeTime at={nextRunAt} />.{' '}
                    </>
                  )}
                  {format(texts.intro, { zone: readerZone() })}
                </>
              )
            }
            actions={
              <ButtonLink to="/workflows/$workflowId/{-$tab}" params={{ workflowId: id }}>
                {texts.toWorkflow}
              </ButtonLink>
            }
          >
            {schedule === null ? (
              <Card>
                <Empty title={texts.noSchedule}>{texts.noScheduleText}</Empty>
              </Card>
            ) : (
              <div className="flex flex-col gap-4">
                <Section title={texts.rule}>
                  <ScheduleTimes workflow={loaded} schedule={schedule} />
                </Section>
                <LastRuns workflow={loaded} />
                <Section title={texts.json}>
                  <CodeBlock
                    text={JSON.stringify({ id, name, active, environment, triggerJson, nextRunAt, updatedAt }, null, 2)}
                    label={texts.json}
                  />
                </Section>
              </div>
            )}
          </Page>
        );
      }}
    </LoadedPage>
  );
}
