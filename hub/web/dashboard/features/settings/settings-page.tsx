import { useWords } from '../../app/language.tsx';
import { Page } from '../../ui/layout.tsx';

export function SettingsPage() {
  const { common } = useWords();
  return <Page title={common.settings}>{null}</Page>;
}
