import type { ReactNode } from 'react';
import type { Schedule, Trigger } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { useLanguage } from '../../app/language.tsx';
import { TextWithTime, ZonedTime } from '../../ui/time.tsx';

/** Describes a schedule in one sentence. */
export function useScheduleText(): (schedule: Schedule) => ReactNode {
  const { words, format, duration } = useLanguage();
  const { triggers } = words.workflows;
  return (schedule) => {
    switch (schedule.kind) {
      case 'cron':
        return format(triggers.cron, { cron: visibleLine(schedule.cron), zone: schedule.timezone });
      case 'interval':
        return format(triggers.interval, { time: duration(schedule.everySeconds * 1000) });
      case 'at':
        return <TextWithTime text={triggers.at} time={<ZonedTime at={new Date(schedule.at).toISOString()} />} />;
    }
  };
}

/** Describes what starts a workflow. */
export function useTriggerText(): (trigger: Trigger) => ReactNode {
  const { words, format } = useLanguage();
  const { triggers } = words.workflows;
  const scheduleText = useScheduleText();
  return (trigger) => {
    switch (trigger.type) {
      case 'manual':
        return triggers.manual;
      case 'schedule':
        return scheduleText(trigger.schedule);
      case 'heartbeat':
        return (
          <>
            {triggers.heartbeat} {scheduleText(trigger.schedule)}
          </>
        );
      case 'event': {
        const { type, filter } = trigger.event;
        const text = format(triggers.event, { event: type });
        return filter === undefined
          ? text
          : `${text} ${format(triggers.eventFilter, { fields: visibleLine(JSON.stringify(filter)) })}`;
      }
      case 'webhook':
        return trigger.webhook.events === undefined
          ? triggers.webhook
          : format(triggers.webhookEvents, { events: visibleLine(trigger.webhook.events.join(', ')) });
      case 'channel': {
        const { channelId, provider } = trigger.channel;
        if (channelId !== undefined) return format(triggers.channelOne, { id: channelId });
        return provider === undefined ? triggers.channel : format(triggers.channelProvider, { provider });
      }
    }
  };
}
