import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Schedule, Workflow } from '../../../../../shared/client/operations.ts';
import { keyOf, query } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { useRereadOn } from '../../app/live-updates.tsx';
import { useNow } from '../../app/now.ts';
import { useMediaQuery } from '../../app/use-media-query.ts';
import { Button } from '../../ui/button.tsx';
import { Facts } from '../../ui/layout.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { Pill } from '../../ui/status.tsx';
import { Cell, Row, Table } from '../../ui/table.tsx';
import { RelativeTime, ZonedTime } from '../../ui/time.tsx';
import { useScheduleText } from '../workflows/trigger-text.tsx';
import { hasClockChange, readerZone } from './zoned-time.ts';

const firstTimes = 5;
const moreTimes = 10;
/** Times that the API returns at most. */
const maxTimes = 100;
/** Times are read again after runs of the workflow, at most this often. */
const rereadMs = 5_000;

/** The schedule of a workflow; null for a workflow with another trigger. */
export const scheduleOf = ({ triggerJson }: Workflow): Schedule | null =>
  triggerJson.type === 'schedule' || triggerJson.type === 'heartbeat' ? triggerJson.schedule : null;

/**
 * The time after which the next times are computed. An interval is counted from the last run, which the preview does not
 * know, so it begins one interval before the next run.
 */
function afterOf(schedule: Schedule, nextRunAt: string | null): { after?: string } {
  if (schedule.kind !== 'interval' || nextRunAt === null) return {};
  return { after: new Date(Date.parse(nextRunAt) - schedule.everySeconds * 1000).toISOString() };
}

/** The only time of a schedule that fires once, if it is still to come. The API refuses to preview a time in the past. */
function useOnlyTime(schedule: Schedule): { fires: string[] } | null {
  const now = useNow();
  if (schedule.kind !== 'at') return null;
  const at = new Date(schedule.at);
  return { fires: at.getTime() > now ? [at.toISOString()] : [] };
}

/** The rule of a schedule in words, with its next times. */
export function ScheduleTimes({ workflow, schedule }: { workflow: Workflow; schedule: Schedule }) {
  const { words, format, duration } = useLanguage();
  const texts = words.schedules;
  const scheduleText = useScheduleText();
  const isWide = useMediaQuery('(min-width: 48rem)');
  const [count, setCount] = useState(firstTimes);
  const { id, active, nextRunAt } = workflow;
  const input = { body: { schedule, count, ...afterOf(schedule, nextRunAt) } };
  const onlyTime = useOnlyTime(schedule);
  const preview = useQuery({
    ...query('previewAutomationSchedule', input),
    enabled: onlyTime === null,
    placeholderData: (previous) => previous,
  });
  useRereadOn(
    ({ type, workflowId }) => type === 'run' && workflowId === id,
    [keyOf('getAutomationWorkflow', { params: { id } }), keyOf('previewAutomationSchedule', input)],
    { everyMs: rereadMs },
  );
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
      {!active && <p className="mb-2 text-sm text-text-muted">{texts.off}</p>}
      <Loaded of={onlyTime === null ? preview : { ...preview, data: onlyTime }}>
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
                            {!isOwnZone && (
                              <>
                                {texts.here}: <ZonedTime at={at} /> ·{' '}
                              </>
                            )}
                            <RelativeTime at={at} />
                          </>
                        )
                      }
                    >
                      <ZonedTime at={at} timeZone={timezone} />{' '}
                      {hasClockChange(fires[index - 1], at, timezone) && (
                        <span title={texts.clockChangeText}>
                          <Pill tone="warning">{texts.clockChange}</Pill>
                        </span>
                      )}
                    </Cell>
                    {isWide && !isOwnZone && (
                      <Cell className="whitespace-nowrap">
                        <ZonedTime at={at} />
                      </Cell>
                    )}
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
