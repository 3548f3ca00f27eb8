import { useWords } from '../../app/language.tsx';
import { Page } from '../../ui/layout.tsx';

export function SchedulesPage() {
  const { common } = useWords();
  return <Page title={common.schedules}>{null}</Page>;
}
