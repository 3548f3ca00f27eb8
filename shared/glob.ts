/** Whether a name matches a pattern in which `*` matches any characters, including dots. */
export function matchesGlob(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  if (rest.length === 0) return pattern === name;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  const last = rest.pop() as string;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}
