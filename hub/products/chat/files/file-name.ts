const maxNameLength = 200;

/** Characters that are not allowed in file names, are invisible, or change the reading direction. */
const unwanted = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb<>:"|?*]/gu;

/**
 * The stored name of a file: without folders, and with an extension of its detected type, so that no system opens it as
 * another type.
 */
export function plainName(given: string, extensions: readonly [string, ...string[]]): string {
  const last = given.replaceAll('\\', '/').split('/').at(-1) ?? '';
  const name =
    last
      .replaceAll(unwanted, '')
      .replace(/^[.\s]+|(?<![.\s])[.\s]+$/g, '')
      .trim() || 'file';
  const extension = /\.([^.]+)$/.exec(name)?.[1]?.toLowerCase();
  const isRight = extension !== undefined && extensions.includes(extension);
  const end = isRight ? name.slice(name.length - extension.length - 1) : `.${extensions[0]}`;
  const stem = isRight ? name.slice(0, name.length - end.length) : name;
  return `${[...stem].slice(0, maxNameLength - end.length).join('')}${end}`;
}
