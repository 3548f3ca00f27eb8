import { visibleLine } from '../../../../../../shared/visible-text.ts';

interface Person {
  displayName: string | null;
  email: string;
  picture: string | null;
}

const sizes = { small: 'size-8 text-xs', large: 'size-16 text-xl' };

/** The picture of a member, or the first letters of the name. */
export function MemberPicture({ person, size = 'small' }: { person: Person; size?: keyof typeof sizes }) {
  const name = visibleLine(person.displayName ?? person.email);
  if (person.picture !== null)
    return <img src={person.picture} alt="" className={`${sizes[size]} shrink-0 rounded-full object-cover`} />;
  const letters = name
    .split(/[\s.@]+/)
    .slice(0, 2)
    .map((part) => [...part][0] ?? '')
    .join('');
  return (
    <span
      aria-hidden
      className={`${sizes[size]} inline-flex shrink-0 items-center justify-center rounded-full bg-accent-muted font-semibold text-accent uppercase`}
    >
      {letters}
    </span>
  );
}
