import { useWords } from '../../app/language.tsx';
import { Page } from '../../ui/layout.tsx';

export function SessionsPage() {
  const { common } = useWords();
  return <Page title={common.sessions}>{null}</Page>;
}
