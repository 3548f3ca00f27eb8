/** Decorative icons next to texts or labels. */
function Icon({ path, fill = false }: { path: string; fill?: boolean }) {
  return (
    <svg class={fill ? 'icon filled' : 'icon'} viewBox="0 0 24 24" aria-hidden="true">
      <path d={path} />
    </svg>
  );
}

export const SendIcon = () => <Icon path="M4.5 12h9M4 4.5l16.5 7.5L4 19.5l2-7.5z" />;
export const ClipIcon = () => (
  <Icon path="m20.5 11.2-8.6 8.6a5.6 5.6 0 0 1-7.9-7.9l8.6-8.6a3.7 3.7 0 0 1 5.3 5.3l-8.6 8.6a1.9 1.9 0 0 1-2.7-2.7l8-7.9" />
);
export const CloseIcon = () => <Icon path="M6 6l12 12M18 6 6 18" />;
export const DownIcon = () => <Icon path="M12 5v14M6 13l6 6 6-6" />;
export const FileIcon = () => <Icon path="M14 3H7a2 2 0 0 0-2 2v14a2 2 0 0 0 2 2h10a2 2 0 0 0 2-2V8zM14 3v5h5" />;
export const StarIcon = () => (
  <Icon fill path="m12 2.8 2.8 5.8 6.4.9-4.6 4.5 1.1 6.4-5.7-3-5.7 3 1.1-6.4L2.8 9.5l6.4-.9z" />
);
export const ChatIcon = () => <Icon path="M21 11.5a8.4 8.4 0 0 1-12.3 7.5L3 21l2-5.6A8.4 8.4 0 1 1 21 11.5Z" />;
export const LinkOffIcon = () => (
  <Icon path="M9.5 14.5 4 20M14.5 9.5 20 4M10 6.5l1.6-1.6a4.6 4.6 0 0 1 6.5 6.5l-1.6 1.6M14 17.5l-1.6 1.6a4.6 4.6 0 0 1-6.5-6.5L7.5 11" />
);
