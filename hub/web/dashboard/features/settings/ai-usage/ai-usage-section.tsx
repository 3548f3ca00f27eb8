import { useQuery } from '@tanstack/react-query';
import { query } from '../../../app/api.ts';
import { useTenantId } from '../../../app/session.tsx';
import { Loaded } from '../../../ui/loaded.tsx';
import { BudgetForm } from './budget-form.tsx';
import { UsageReport } from './usage-report.tsx';

export function AiUsageSection() {
  const budget = useQuery(query('getAiBudget', { params: { tenantId: useTenantId() } }));
  return (
    <div className="flex flex-col gap-5">
      <UsageReport />
      <Loaded of={budget}>{(server) => <BudgetForm server={server} />}</Loaded>
    </div>
  );
}
