/** What visitors see of a member: of the address, what stands before the @. Statements say the same by `split_part`. */
export const shownNameOf = (email: string): string => email.slice(0, email.indexOf('@'));
