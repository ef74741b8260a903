export default function Page() {
	return <p>answers</p>;
}
