import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import type { Schedule, Workflow, WorkflowSummary } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { query } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { useMediaQuery } from '../../app/use-media-query.ts';
import { Button } from '../../ui/button.tsx';
import { Card, Facts, TextLink } from '../../ui/layout.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { Pill, StatusPill } from '../../ui/status.tsx';
import { Cell, Row, Table } from '../../ui/table.tsx';
import { RelativeTime } from '../../ui/time.tsx';
import { useScheduleText } from '../workflows/trigger-text.ts';
import { hasClockChange, readerZone, useZonedTime } from './zoned-time.ts';

const firstTimes = 5;
const moreTimes = 10;
/** Times that the API returns at most. */
const maxTimes = 100;

/** Whether an element was near the visible part of the page. Cards further down need no requests yet. */
function useWasSeen() {
  const ref = useRef<HTMLDivElement>(null);
  const [wasSeen, setSeen] = useState(false);
  useEffect(() => {
    const element = ref.current;
    if (element === null) return;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) setSeen(true);
      },
      { rootMargin: '300px' },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { ref, wasSeen };
}

const scheduleOf = ({ triggerJson }: Workflow): Schedule | null =>
  triggerJson.type === 'schedule' || triggerJson.type === 'heartbeat' ? triggerJson.schedule : null;

/** One scheduled workflow with its rule and its next times. */
export function ScheduleCard({ workflow }: { workflow: WorkflowSummary }) {
  const { words } = useLanguage();
  const texts = words.workflows;
  const { ref, wasSeen } = useWasSeen();
  const detail = useQuery({
    ...query('getAutomationWorkflow', { params: { id: workflow.id } }),
    enabled: wasSeen,
  });
  const { id, name, active, lastRun } = workflow;
  return (
    <div ref={ref}>
      <Card className="p-4">
        <div className="mb-2 flex flex-wrap items-center gap-x-3 gap-y-1">
          <h2 className="wrap-anywhere">
            <TextLink to="/workflows/$workflowId/{-$tab}" params={{ workflowId: id }}>
              {visibleLine(name)}
            </TextLink>
          </h2>
          <Pill tone={active ? 'success' : 'neutral'}>{active ? texts.on : texts.off}</Pill>
          {lastRun !== null && (
            <span className="ms-auto flex flex-wrap items-center gap-2 text-sm text-text-muted">
              {texts.lastRun} <StatusPill status={lastRun.status} />
              <TextLink to="/runs/$runId" params={{ runId: lastRun.id }}>
                <RelativeTime at={lastRun.queuedAt} />
              </TextLink>
            </span>
          )}
        </div>
        <Loaded of={detail}>
          {(loaded) => {
            const schedule = scheduleOf(loaded);
            return schedule === null ? null : (
              <Times schedule={schedule} isActive={loaded.active} nextRunAt={loaded.nextRunAt} />
            );
          }}
        </Loaded>
      </Card>
    </div>
  );
}

/**
 * The time after which the next times are computed. An interval is counted from the last run, which the preview does not
 * know, so it begins one interval before the next run.
 */
function afterOf(schedule: Schedule, nextRunAt: string | null): { after?: string } {
  if (schedule.kind !== 'interval' || nextRunAt === null) return {};
  return { after: new Date(Date.parse(nextRunAt) - schedule.everySeconds * 1000).toISOString() };
}

function Times({ schedule, isActive, nextRunAt }: { schedule: Schedule; isActive: boolean; nextRunAt: string | null }) {
  const { words, format, duration } = useLanguage();
  const texts = words.schedules;
  const scheduleText = useScheduleText();
  const zonedTime = useZonedTime();
  const isWide = useMediaQuery('(min-width: 48rem)');
  const [count, setCount] = useState(firstTimes);
  const preview = useQuery({
    ...query('previewAutomationSchedule', { body: { schedule, count, ...afterOf(schedule, nextRunAt) } }),
    placeholderData: (previous) => previous,
  });
  const isOwnZone = schedule.timezone === readerZone();
  const { timezone, jitterSeconds, onMissed, maxCatchUp, overlap } = schedule;
  return (
    <>
      <p className="mb-3 wrap-anywhere">{scheduleText(schedule)}</p>
      <div className="mb-3">
        <Facts
          rows={[
            [texts.missed, format(texts.onMissed[onMissed], { count: maxCatchUp })],
            [texts.overlap, texts.overlaps[overlap]],
            ...(jitterSeconds === 0
              ? []
              : [[texts.jitter, format(texts.jitterText, { time: duration(jitterSeconds * 1000) })] as const]),
          ]}
        />
      </div>
      {!isActive && <p className="mb-2 text-sm text-text-muted">{texts.off}</p>}
      <Loaded of={preview}>
        {({ fires }) =>
          fires.length === 0 ? (
            <p className="text-text-muted">{texts.none}</p>
          ) : (
            <>
              <Table
                head={[
                  format(texts.inZone, { zone: timezone }),
                  ...(isWide && !isOwnZone ? [texts.here] : []),
                  ...(isWide ? [texts.distance] : []),
                ]}
              >
                {fires.map((at, index) => (
                  <Row key={at}>
                    <Cell
                      className="md:whitespace-nowrap"
                      note={
                        isWide ? undefined : (
                          <>
                            {!isOwnZone && `${texts.here}: ${zonedTime(at)} · `}
                            <RelativeTime at={at} />
                          </>
                        )
                      }
                    >
                      {zonedTime(at, timezone)}{' '}
                      {hasClockChange(fires[index - 1], at, timezone) && (
                        <span title={texts.clockChangeText}>
                          <Pill tone="warning">{texts.clockChange}</Pill>
                        </span>
                      )}
                    </Cell>
                    {isWide && !isOwnZone && <Cell className="whitespace-nowrap">{zonedTime(at)}</Cell>}
                    {isWide && (
                      <Cell className="whitespace-nowrap text-text-muted">
                        <RelativeTime at={at} />
                      </Cell>
                    )}
                  </Row>
                ))}
              </Table>
              {fires.length === count && count < maxTimes && (
                <Button
                  size="small"
                  className="mt-2"
                  isBusy={preview.isFetching}
                  onClick={() => setCount(Math.min(maxTimes, count + moreTimes))}
                >
                  {texts.showMore}
                </Button>
              )}
            </>
          )
        }
      </Loaded>
    </>
  );
}
