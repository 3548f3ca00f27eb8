import { useWords } from '../../app/language.tsx';
import { Page } from '../../ui/layout.tsx';

export function ApprovalsPage() {
  const { common } = useWords();
  return <Page title={common.approvals}>{null}</Page>;
}
