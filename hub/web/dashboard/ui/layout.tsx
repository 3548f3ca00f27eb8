import { Link } from '@tanstack/react-router';
import type { LinkProps } from '@tanstack/react-router';
import { useEffect } from 'react';
import type { ReactNode } from 'react';
import { useWords } from '../app/language.tsx';
import { useSession } from '../app/session.tsx';

/** A link to a page above the shown one. */
export interface Crumb {
  label: string;
  link: LinkProps;
}

interface PageProps {
  title: ReactNode;
  /** Title of the browser tab, if `title` is not a text. */
  documentTitle?: string;
  /** Links to the pages above this one. */
  crumbs?: Crumb[];
  /** Next to the title, such as a status. */
  aside?: ReactNode;
  /** One line below the title. */
  meta?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

/** A page of the dashboard: its title, its actions and its content. */
export function Page({ title, documentTitle, crumbs, aside, meta, actions, children }: PageProps) {
  const { workspaceName } = useSession();
  const { product } = useWords().common;
  const tabTitle = documentTitle ?? (typeof title === 'string' ? title : product);
  useEffect(() => {
    document.title = `${tabTitle} · ${workspaceName}`;
  }, [tabTitle, workspaceName]);
  return (
    <>
      {crumbs !== undefined && (
        <nav className="mb-1 flex flex-wrap gap-x-1.5 text-sm text-text-muted">
          {crumbs.map(({ label, link }, index) => (
            <span key={label} className="flex gap-1.5">
              {index > 0 && <span aria-hidden>/</span>}
              <TextLink {...link}>{label}</TextLink>
            </span>
          ))}
        </nav>
      )}
      <header className="mb-3.5 flex flex-wrap items-center gap-x-3 gap-y-2">
        <h1 className="min-w-0 wrap-anywhere">{title}</h1>
        {aside}
        {actions !== undefined && <div className="ms-auto flex flex-wrap gap-2">{actions}</div>}
        {meta !== undefined && <p className="w-full wrap-anywhere text-text-muted">{meta}</p>}
      </header>
      {children}
    </>
  );
}

/** A link within the dashboard. Within a sentence it is underlined, because its colour alone does not mark it. */
export function TextLink({
  children,
  isInText = false,
  ...link
}: LinkProps & { children: ReactNode; isInText?: boolean }) {
  return (
    <Link className={`text-accent ${isInText ? 'underline' : 'no-underline hover:underline'}`} {...link}>
      {children}
    </Link>
  );
}

/** A framed part of a page. */
export function Card({ children, className = '' }: { children: ReactNode; className?: string }) {
  return <section className={`rounded-(--radius-large) border bg-surface ${className}`}>{children}</section>;
}

/** A framed part of a page with a heading. */
export function Section({
  title,
  actions,
  children,
  className = '',
}: {
  title: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  className?: string;
}) {
  return (
    <Card className={`p-4 ${className}`}>
      <div className="mb-2 flex flex-wrap items-center gap-2">
        <h2>{title}</h2>
        {actions !== undefined && <div className="ms-auto flex gap-2">{actions}</div>}
      </div>
      {children}
    </Card>
  );
}

/** What a list shows when it has no rows: why, and the next step. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="flex flex-col items-center gap-2 px-6 py-12 text-center">
      <p className="font-semibold">{title}</p>
      {children !== undefined && <div className="max-w-prose text-text-muted">{children}</div>}
    </div>
  );
}

/** Names with their values, in two columns. */
export function Facts({ rows }: { rows: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="grid grid-cols-[minmax(6rem,auto)_minmax(0,1fr)] gap-x-4 gap-y-1.5 text-sm">
      {rows.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-text-muted">{name}</dt>
          <dd className="min-w-0 wrap-anywhere">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
