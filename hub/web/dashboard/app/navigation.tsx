import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { LinkProps } from '@tanstack/react-router';
import {
  Activity,
  BookOpen,
  Bot,
  CalendarClock,
  House,
  Inbox,
  ListOrdered,
  MessagesSquare,
  Monitor,
  Package,
  Phone,
  Settings,
  ShieldCheck,
  Workflow,
} from 'lucide-react';
import type { LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';
import { LoadError } from '../ui/error.tsx';
import { query } from './api.ts';
import { useLanguage } from './language.tsx';
import { useTenantId } from './session.tsx';

interface Item {
  to: LinkProps['to'];
  label: string;
  icon: LucideIcon;
  badge?: ReactNode;
}

/** A number of things that wait for a person. */
function Badge({ count, label, isAtLeast = false }: { count: number; label: string; isAtLeast?: boolean }) {
  const { number, format } = useLanguage();
  if (count === 0) return null;
  const text = isAtLeast ? `${number(count)}+` : number(count);
  return (
    <span
      aria-label={format(label, { count: text })}
      className="ms-auto rounded-full bg-warning-muted px-2 text-xs leading-5 font-semibold text-warning"
    >
      {text}
    </span>
  );
}

/** The badge counts the approvals that the user can decide, up to this number. */
const maxCountedApprovals = 99;

/** The links to the pages, with the numbers of approvals and conversations that wait. */
export function Navigation({ onNavigate }: { onNavigate: () => void }) {
  const { words } = useLanguage();
  const { common } = words;
  const tenantId = useTenantId();
  const { data: entitlements, error, refetch } = useQuery(query('readEntitlements'));
  const hasChat = entitlements?.conversations_suite === true;
  const hasAutomations = entitlements?.automations === true;
  const approvals = useQuery({
    ...query('listAutomationApprovalSummaries', { query: { status: 'pending', limit: maxCountedApprovals + 1 } }),
    enabled: hasAutomations,
  });
  const decidable = approvals.data?.data.filter(({ canDecide }) => canDecide).length ?? 0;
  const inbox = useQuery({
    ...query('countInboxConversations', { params: { tenantId } }),
    enabled: hasChat,
    refetchInterval: 30_000,
  });
  const items: (Item | false)[] = [
    { to: '/', label: common.home, icon: House },
    hasAutomations && { to: '/runs', label: common.runs, icon: Activity },
    hasAutomations && {
      to: '/approvals',
      label: common.approvals,
      icon: ShieldCheck,
      badge: (
        <Badge
          count={Math.min(decidable, maxCountedApprovals)}
          isAtLeast={decidable > maxCountedApprovals || approvals.data?.meta.nextCursor !== null}
          label={common.waitingCount}
        />
      ),
    },
    hasChat && {
      to: '/inbox',
      label: common.inbox,
      icon: Inbox,
      badge: <Badge count={inbox.data?.unread ?? 0} label={common.unreadCount} />,
    },
    hasAutomations && { to: '/workflows', label: common.workflows, icon: Workflow },
    hasAutomations && { to: '/nodes', label: common.nodes, icon: Monitor },
    hasAutomations && { to: '/agents', label: common.agents, icon: Bot },
    hasAutomations && { to: '/sequences', label: common.sequences, icon: ListOrdered },
    hasAutomations && { to: '/sessions', label: common.sessions, icon: MessagesSquare },
    hasAutomations && { to: '/schedules', label: common.schedules, icon: CalendarClock },
    hasAutomations && { to: '/packs', label: common.packs, icon: Package },
    entitlements?.ai_agent === true && { to: '/knowledge', label: common.knowledge, icon: BookOpen },
    entitlements?.business_calling === true && { to: '/calls', label: common.calls, icon: Phone },
    { to: '/settings/{-$section}', label: common.settings, icon: Settings },
  ];
  return (
    <>
      <ul className="flex flex-col gap-0.5">
        {items
          .filter((item) => item !== false)
          .map(({ to, label, icon: Icon, badge }) => (
            <li key={to}>
              <Link
                to={to}
                onClick={onNavigate}
                activeOptions={{ exact: to === '/', includeSearch: false }}
                className="flex items-center gap-2.5 rounded-(--radius-medium) px-2.5 py-1.5 font-medium text-text-muted no-underline hover:bg-hover"
                activeProps={{ className: 'bg-accent-muted! text-accent! font-semibold!' }}
              >
                <Icon size={17} aria-hidden />
                {label}
                {badge}
              </Link>
            </li>
          ))}
      </ul>
      {entitlements === undefined && error !== null && <LoadError error={error} onRetry={refetch} />}
    </>
  );
}
